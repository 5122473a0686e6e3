# The CUDA plug-in, preset `cuda`: one shared library beside the program, which opens it at run time.
# Nothing else of the build changes, so that a program without CUDA is the same program.
option(PTYCHE_CUDA "Build the CUDA kernels as a plug-in (needs nvcc and cuFFT)" OFF)
if(NOT PTYCHE_CUDA)
  return()
endif()
find_program(PTYCHE_NVCC nvcc HINTS ENV CUDACXX ENV CUDA_HOME PATHS /usr/local/cuda
             PATH_SUFFIXES bin DOC "CUDA compiler")
if(NOT PTYCHE_NVCC)
  message(FATAL_ERROR "The preset cuda needs nvcc of the CUDA toolkit (12.0 or newer): it is neither "
                      "in PATH nor in /usr/local/cuda/bin. Without it: ./run build")
endif()
# Machine code for two generations, and PTX that the driver compiles for later ones.
set(CMAKE_CUDA_ARCHITECTURES "80-real;90" CACHE STRING "Generations of GPUs")
set(CMAKE_CUDA_COMPILER ${PTYCHE_NVCC})
set(CMAKE_CUDA_STANDARD 17)  # else the C++ standard, which CMake 3.25 does not know for CUDA
enable_language(CUDA)
find_package(CUDAToolkit 12.0 REQUIRED)
if(NOT TARGET CUDA::cufft)
  message(FATAL_ERROR "The preset cuda needs cuFFT (cufft.h, libcufft.so), which is not beside the "
                      "CUDA toolkit in ${CUDAToolkit_LIBRARY_ROOT}")
endif()

file(GLOB kernels CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/ptyche/engine/cuda/*.cu)
add_library(ptyche_cuda SHARED ${kernels})
target_include_directories(ptyche_cuda PRIVATE ${CMAKE_SOURCE_DIR})
target_link_libraries(ptyche_cuda PRIVATE CUDA::cufft)
set_target_properties(ptyche_cuda PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}
                      CUDA_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
