# The kernels for NVIDIA GPUs as PTX in the program: compiled by NVRTC, which LibTorch's CUDA wheels bring, for
# the oldest architecture that CUDA 13 knows; the driver makes a GPU's own code of it. Without CUDA an empty text.
set(PTYCHE_DEVICE_KERNELS ${CMAKE_BINARY_DIR}/generated/device_kernel_code.cpp)
if(PTYCHE_CUDA)
  get_filename_component(nvidia ${PTYCHE_LIBTORCH}/../nvidia/cu13 ABSOLUTE)
  add_executable(compile_ptx ${CMAKE_SOURCE_DIR}/tools/compile_ptx.cpp)
  target_include_directories(compile_ptx SYSTEM PRIVATE ${nvidia}/include)
  target_link_libraries(compile_ptx PRIVATE ${nvidia}/lib/libnvrtc.so.13)
  set_target_properties(compile_ptx PROPERTIES BUILD_RPATH ${nvidia}/lib)
  set(kernel_source ${CMAKE_SOURCE_DIR}/ptyche/engine/cuda/device_kernels.cu)
  add_custom_command(OUTPUT ${PTYCHE_DEVICE_KERNELS} DEPENDS compile_ptx ${kernel_source} VERBATIM
                     COMMAND compile_ptx ${kernel_source} ${PTYCHE_DEVICE_KERNELS} compute_75)
else()
  file(CONFIGURE OUTPUT ${PTYCHE_DEVICE_KERNELS} CONTENT "#include <string_view>
namespace ptyche::cuda {
std::string_view kernel_code() { return {}; }
}  // namespace ptyche::cuda
")
endif()
set_source_files_properties(${PTYCHE_DEVICE_KERNELS} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
