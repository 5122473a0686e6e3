# LibTorch from its PyPI wheel, as imported targets made by hand: the wheel's own find_package(Torch)
# fails on a machine without a CUDA toolkit. libtorch.so itself is never linked, it pulls in CUDA.
# ./run installs it (tools/setup.sh, which has the same rule for the folder).
if(NOT "$ENV{PTYCHE_DEPS}" STREQUAL "")
  set(deps $ENV{PTYCHE_DEPS})
elseif(NOT "$ENV{XDG_CACHE_HOME}" STREQUAL "")
  set(deps $ENV{XDG_CACHE_HOME}/ptyche)
else()
  set(deps $ENV{HOME}/.cache/ptyche)
endif()
file(STRINGS ${CMAKE_SOURCE_DIR}/tools/requirements.txt pin REGEX "^torch==")
string(REGEX REPLACE "^torch==([0-9.]+).*" "\\1" torch_version "${pin}")
set(PTYCHE_LIBTORCH ${deps}/libtorch-${torch_version}/torch CACHE PATH
    "Folder of an installed torch package (holds include/ and lib/)")
if(NOT EXISTS ${PTYCHE_LIBTORCH}/lib/libtorch_cpu.so)
  message(FATAL_ERROR "LibTorch not found in ${PTYCHE_LIBTORCH}: run ./run build, which installs it, "
                      "or set PTYCHE_LIBTORCH to the folder of an installed torch ${torch_version}")
endif()
add_library(torch_c10 SHARED IMPORTED)
set_target_properties(torch_c10 PROPERTIES IMPORTED_LOCATION ${PTYCHE_LIBTORCH}/lib/libc10.so)
target_include_directories(torch_c10 SYSTEM INTERFACE ${PTYCHE_LIBTORCH}/include
                           ${PTYCHE_LIBTORCH}/include/torch/csrc/api/include)
add_library(torch_cpu SHARED IMPORTED)
set_target_properties(torch_cpu PROPERTIES IMPORTED_LOCATION ${PTYCHE_LIBTORCH}/lib/libtorch_cpu.so)
target_link_libraries(torch_cpu INTERFACE torch_c10)
target_link_options(torch_cpu INTERFACE -Wl,--no-as-needed -Wl,--allow-shlib-undefined)
