#!/usr/bin/env bash
# ./run bench device: what an NVIDIA GPU does in a second, part by part, by the program of ./run build cuda; with the
# argument cpu what the processor does. Arguments: device, N, patterns.
set -euo pipefail
cmake --build build/cuda --target device_bench --parallel 2 >&2
GOMP_SPINCOUNT=2000 build/cuda/bench/device_bench "$@"
