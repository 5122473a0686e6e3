# Compiler settings shared by every target, and the function that declares a stage.
add_library(ptyche_options INTERFACE)
target_include_directories(ptyche_options INTERFACE ${CMAKE_SOURCE_DIR})
# Plain -fopenmp finds torch's own libgomp at run time, so that both share one pool of threads.
# No errno from sqrt: it would keep loops from using vectors.
# The sanitizers are clang's; the warnings are gcc's.
target_compile_options(ptyche_options INTERFACE -fno-math-errno)
if(PTYCHE_SANITIZE)  # clang's OpenMP is another one, so there is one thread
  target_compile_options(ptyche_options INTERFACE -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all
                         -fno-omit-frame-pointer -O1 -g1 -w)
  target_link_options(ptyche_options INTERFACE -fsanitize=address,undefined)
  target_link_libraries(ptyche_options INTERFACE gomp)  # omp_get_thread_num of the one thread
elseif(PTYCHE_SANITIZE_THREADS)  # clang's OpenMP tells the sanitizer of its barriers (Archer)
  target_compile_options(ptyche_options INTERFACE -fsanitize=thread -fopenmp -fno-omit-frame-pointer
                         -O1 -g1 -w)
  target_link_options(ptyche_options INTERFACE -fsanitize=thread -fopenmp)
else()
  # A designated initialiser leaves the other members at their defaults on purpose.
  target_compile_options(ptyche_options INTERFACE -Wall -Wextra -Wno-missing-field-initializers
                         -fopenmp)
  # gcc warns of every member whose type is in an anonymous namespace of another file than the one that it was
  # called with; in a chunk that is each source. The preset dev has no chunks, and the warning.
  if(PTYCHE_CHUNKS AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(ptyche_options INTERFACE -Wno-subobject-linkage)
  endif()
  # Packages of one commit are the same wherever it was checked out: no path of this machine in the texts of asserts.
  target_compile_options(ptyche_options INTERFACE -ffile-prefix-map=${CMAKE_SOURCE_DIR}/=
                         -ffile-prefix-map=${PTYCHE_LIBTORCH}/=torch/)
  # A tenth of the compiler's time went into collecting garbage below 1 GB (tools/setup.sh counts it).
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(ptyche_options INTERFACE --param=ggc-min-heapsize=1000000)
  endif()
  target_link_options(ptyche_options INTERFACE -fopenmp)
endif()
if(PTYCHE_WARNINGS_AS_ERRORS)
  target_compile_options(ptyche_options INTERFACE -Werror)
endif()

# ccache takes files that use a precompiled header only if told that the header's time and the time
# macros in it do not matter; paths below the checkout are made relative, so that clones share it. A
# path with a blank stays absolute in the lists of headers, and a build elsewhere would then look for
# changes in this clone: no ccache there.
find_program(PTYCHE_CCACHE ccache)
if(PTYCHE_CCACHE AND NOT CMAKE_SOURCE_DIR MATCHES " ")
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}
      CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1
      CCACHE_SLOPPINESS=pch_defines,time_macros
      ${PTYCHE_CCACHE})
endif()

# One precompiled header for all: ATen/ATen.h costs 6 s in every file without it. torch/torch.h would
# be twice as large and slow every file down; the few files with networks include what they need.
add_library(ptyche_pch OBJECT cmake/pch.cpp)
target_precompile_headers(ptyche_pch PRIVATE <ATen/ATen.h>)
target_link_libraries(ptyche_pch PUBLIC ptyche_options torch_cpu)

# ptyche_chunks(OUT NAME SOURCES...): where PTYCHE_CHUNKS is on, files that include about 50 kB of the
# sources each instead of the sources themselves: half of the time of a small file is its headers.
# CMake's own unity build writes absolute paths, with which no two clones share a compiler cache.
function(ptyche_chunks out name)
  if(NOT PTYCHE_CHUNKS)
    set(${out} ${ARGN} PARENT_SCOPE)
    return()
  endif()
  set(chunks "")
  set(text "")
  set(size 0)
  foreach(source IN LISTS ARGN ITEMS end)
    if(text AND (source STREQUAL end OR size GREATER 50000))
      list(LENGTH chunks number)
      set(chunk ${CMAKE_BINARY_DIR}/chunks/${name}_${number}.cpp)
      file(CONFIGURE OUTPUT ${chunk} CONTENT "${text}" @ONLY)
      list(APPEND chunks ${chunk})
      set(text "")
      set(size 0)
    endif()
    if(NOT source STREQUAL end)
      file(RELATIVE_PATH path ${CMAKE_SOURCE_DIR} ${source})
      string(APPEND text "#include \"${path}\"\n")
      file(SIZE ${source} bytes)
      math(EXPR size "${size} + ${bytes}")
    endif()
  endforeach()
  set(${out} ${chunks} PARENT_SCOPE)
endfunction()

# The hand-written kernels are compiled once per instruction set and chosen at run time: a source per
# set, which includes the table of the kernels. They share no precompiled header with the rest (its
# flags are others) and see no header of LibTorch. No -ffast-math: NaN must stay NaN.
set(kernel_flags -O3 -fno-math-errno -fno-trapping-math -ffp-contract=fast)
set(PTYCHE_KERNELS "")
foreach(isa IN ITEMS "plain:16" "avx2:32;-mavx2;-mfma"
                     "avx512:64;-mavx512f;-mavx512dq;-mavx512vl;-mfma")
  string(REGEX MATCH "^([a-z0-9]+):([0-9]+);?(.*)$" _ "${isa}")
  set(name ${CMAKE_MATCH_1})
  set(kernel ${CMAKE_BINARY_DIR}/chunks/kernels_${name}.cpp)
  file(CONFIGURE OUTPUT ${kernel} CONTENT "#define PTYCHE_ISA ${name}
#define PTYCHE_VECTOR_BYTES ${CMAKE_MATCH_2}
#include \"ptyche/engine/cpu/kernel_table.cpp\"
" @ONLY)
  set_source_files_properties(${kernel} PROPERTIES SKIP_PRECOMPILE_HEADERS ON
                              COMPILE_OPTIONS "${kernel_flags};${CMAKE_MATCH_3}")
  list(APPEND PTYCHE_KERNELS ${kernel})
endforeach()

# The shipped recipes as texts in the program (ptyche/io/recipe.h).
file(GLOB recipes CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/ptyche/io/recipes/*.toml)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${recipes})
set(recipe_lines "")
foreach(recipe IN LISTS recipes)
  get_filename_component(recipe_name ${recipe} NAME)
  file(READ ${recipe} recipe_text)
  string(APPEND recipe_lines "{\"${recipe_name}\", R\"toml(${recipe_text})toml\"},\n")
endforeach()
set(PTYCHE_RECIPES ${CMAKE_BINARY_DIR}/chunks/recipes.cpp)
file(CONFIGURE OUTPUT ${PTYCHE_RECIPES} CONTENT "#include <string>
#include <utility>
#include <vector>
namespace ptyche {
std::vector<std::pair<std::string, std::string>> recipe_texts() {
  return {
@recipe_lines@};
}
}  // namespace ptyche
" @ONLY)

# The page of live runs as a text in the program (ptyche/live/view_server.h).
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/ptyche/live/page.html)
file(READ ${CMAKE_SOURCE_DIR}/ptyche/live/page.html page_text)
set(PTYCHE_PAGE ${CMAKE_BINARY_DIR}/chunks/page.cpp)
file(CONFIGURE OUTPUT ${PTYCHE_PAGE} CONTENT "#include <string>
namespace ptyche {
std::string view_page() { return R\"page(${page_text})page\"; }
}  // namespace ptyche
" @ONLY)

# The network that comes with the program (ptyche/model/shipped_model.h), byte by byte.
set(shipped_network ${CMAKE_SOURCE_DIR}/ptyche/model/shipped.ptyche)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${shipped_network})
file(SHA256 ${shipped_network} shipped_hash)  # a compiler cache does not look into the file
set(PTYCHE_SHIPPED_MODEL ${CMAKE_BINARY_DIR}/chunks/shipped_model.cpp)
file(CONFIGURE OUTPUT ${PTYCHE_SHIPPED_MODEL} CONTENT "#include <string_view>
__asm__(\"# @shipped_hash@\\n.pushsection .rodata\\nptyche_shipped_begin: .incbin \\\"@shipped_network@\\\"\\n\"
        \"ptyche_shipped_end: .byte 0\\n.popsection\");
extern \"C\" const char ptyche_shipped_begin[], ptyche_shipped_end[];
namespace ptyche {
std::string_view shipped_model_file() { return {ptyche_shipped_begin, ptyche_shipped_end}; }
}  // namespace ptyche
" @ONLY)

# ptyche_stage(NAME LEFT): the library ptyche_NAME from ptyche/NAME/*.cpp, on top of LEFT.
function(ptyche_stage name left)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/ptyche/${name}/*.cpp
       ${CMAKE_SOURCE_DIR}/ptyche/${name}/*/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/kernel_table.cpp$|/(pva|mpi)_library.cpp$")  # targets of their own
  ptyche_chunks(chunks ${name} ${sources})
  add_library(ptyche_${name} STATIC ${chunks})
  target_link_libraries(ptyche_${name} PUBLIC ${left} ptyche_options)
  target_precompile_headers(ptyche_${name} REUSE_FROM ptyche_pch)
endfunction()
