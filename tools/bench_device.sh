#!/usr/bin/env bash
# ./run bench device [cuda|cpu] [N] [PATTERNS]: what an NVIDIA GPU does in a second, part by part, by the program of
# ./run build cuda; with cpu what the processor does.
set -euo pipefail
./run build cuda
cmake --build build/cuda --target device_bench --parallel 2 >&2
GOMP_SPINCOUNT=2000 build/cuda/bench/device_bench "$@"
