# `cmake --install build/release --prefix FOLDER`: one layout for ./run install and for the packages, which
# can be moved as a whole:
#   bin/ptyche                 link to the launcher
#   lib/ptyche/{bin,lib,fonts} launcher and program, every library but glibc's own, fonts
#   lib/ptyche/glibc           glibc and its dynamic linker, for systems with an older one (ptyche/dynamic_linker.h)
#   share/...                  manual pages, completions, documents, licences
#   lib/ptyche/source          the plug-in for MPI, to be compiled for that of a cluster (docs/scale.md)
set(bundle lib/ptyche)
option(PTYCHE_BUNDLE "Install libraries, fonts and glibc beside the program; OFF where a package manager has them" ON)
install(TARGETS ptyche ptyche_program DESTINATION ${bundle}/bin)
install(FILES ptyche/core/mpi_library.h ptyche/core/mpi_library.cpp DESTINATION ${bundle}/source/ptyche/core)
install(FILES LICENSE README.md CHANGELOG.md CITATION.cff SECURITY.md DESTINATION share/doc/ptyche)
install(DIRECTORY docs packaging DESTINATION share/doc/ptyche)
set(places "set(bundle \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${bundle}\")
set(share \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/share\")")
if(NOT PTYCHE_BUNDLE)
  set_target_properties(ptyche_program PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
  install(CODE "${places}")
  install(SCRIPT cmake/pages.cmake)
  return()
endif()

# RPATH, and not the newer RUNPATH: it holds for the libraries of the libraries, too, and a user's
# LD_LIBRARY_PATH (conda, modules) does not come before it.
target_link_options(ptyche_program PRIVATE -Wl,--disable-new-dtags)
set_target_properties(ptyche_program PROPERTIES INSTALL_RPATH "$ORIGIN/../lib")
find_path(PTYCHE_FONTS DejaVuSans.ttf PATHS /usr/share/fonts PATH_SUFFIXES
          truetype/dejavu dejavu-sans-fonts TTF NO_DEFAULT_PATH DOC "Folder of DejaVu Sans")
if(PTYCHE_FONTS)  # else the system's are used (ptyche/report/canvas.cpp)
  install(FILES ${PTYCHE_FONTS}/DejaVuSans.ttf ${PTYCHE_FONTS}/DejaVuSans-Bold.ttf
          DESTINATION ${bundle}/fonts)
endif()

find_program(PTYCHE_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
find_program(PTYCHE_PYTHON python3 REQUIRED)
# The archives of which parts are in the program, for their licences.
get_cmake_property(cached CACHE_VARIABLES)
list(FILTER cached INCLUDE REGEX "^PTYCHE_ARCHIVE_|^PTYCHE_TIFF_ARCHIVE$")
set(archives "")
foreach(name IN LISTS cached)
  if(${name})
    list(APPEND archives ${${name}})
  endif()
endforeach()

# What is known only when it is installed: libraries, their licences, what the program prints itself.
install(CODE "${places}
set(program \"$<TARGET_FILE:ptyche_program>\")
set(libtorch \"${PTYCHE_LIBTORCH}\")
set(strip \"${CMAKE_STRIP}\")
set(python \"${PTYCHE_PYTHON}\")
set(tools \"${CMAKE_SOURCE_DIR}/tools\")
set(archives \"${archives}\")")
install(SCRIPT cmake/bundle.cmake)
install(SCRIPT cmake/pages.cmake)
