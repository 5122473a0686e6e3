# The EPICS plug-in (`./run build pva`): one shared library beside the program, which opens it where a
# source pva:// is named (ptyche/live/pva_library.h). Nothing else of the build changes.
set(PTYCHE_PVXS "" CACHE PATH "Folder of the wheels pvxslibs and epicscorelibs, for the plug-in pva")
if(NOT PTYCHE_PVXS)
  return()
endif()
set(pvxs ${PTYCHE_PVXS}/pvxslibs)
set(epics ${PTYCHE_PVXS}/epicscorelibs)
if(NOT EXISTS ${pvxs}/lib/libpvxs.so)
  message(FATAL_ERROR "no PVXS in ${PTYCHE_PVXS}: ./run build pva installs it")
endif()

# ptyche_with_pvxs(TARGET): as the wheels were compiled, with the old strings of the C++ library.
function(ptyche_with_pvxs target)
  target_compile_features(${target} PRIVATE cxx_std_17)
  target_compile_definitions(${target} PRIVATE _GLIBCXX_USE_CXX11_ABI=0)
  target_compile_options(${target} PRIVATE -Wall -Wextra)
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR})
  target_include_directories(${target} SYSTEM PRIVATE ${pvxs}/include ${epics}/include)
  target_link_libraries(${target} PRIVATE ${pvxs}/lib/libpvxs.so ${epics}/lib/libCom.so)
  # RPATH, and not the newer RUNPATH: it holds for the libraries of the libraries, too.
  target_link_options(${target} PRIVATE -Wl,--disable-new-dtags)
endfunction()

add_library(ptyche_pva SHARED ptyche/live/pva_library.cpp)
ptyche_with_pvxs(ptyche_pva)
set_target_properties(ptyche_pva PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}
                      CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
