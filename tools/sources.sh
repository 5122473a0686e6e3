# shellcheck shell=bash
# The C++ and CUDA files that clang-format looks after; sourced, from the root of the checkout.

# source_files: their names, each ended by a zero byte.
source_files() {
  find . \( -path ./build -o -path ./out -o -path ./.git \) -prune -o \
    -type f \( -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' \) -print0
}
