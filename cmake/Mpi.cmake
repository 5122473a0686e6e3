# The MPI plug-in: one shared library beside the program, which opens it where it was started by mpirun or
# srun (ptyche/core/ranks.h). Built where MPI is found (`./run build mpi` installs Open MPI); nothing else of
# the build changes.
option(PTYCHE_MPI "Build the plug-in for many machines where MPI is found" ON)
if(NOT PTYCHE_MPI)
  return()
endif()
find_package(MPI QUIET COMPONENTS CXX)
if(NOT MPI_CXX_FOUND)
  return()
endif()
add_library(ptyche_mpi SHARED ptyche/core/mpi_library.cpp)
target_compile_options(ptyche_mpi PRIVATE -Wall -Wextra)
target_include_directories(ptyche_mpi PRIVATE ${CMAKE_SOURCE_DIR})
target_link_libraries(ptyche_mpi PRIVATE MPI::MPI_CXX ${CMAKE_DL_LIBS})
set_target_properties(ptyche_mpi PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}
                      CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
