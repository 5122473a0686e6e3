#!/usr/bin/env bash
# ./run bench layers [THREADS] [N]: the network's layers beside the same network by LibTorch's plain operations, which
# are PyTorch's: forward pass, and forward and backward pass, in both precisions.
set -euo pipefail
cmake --build build/release --target layers_bench --parallel 2 >&2
GOMP_SPINCOUNT=2000 build/release/bench/layers_bench "$@"
