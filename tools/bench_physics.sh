#!/usr/bin/env bash
# ./run bench physics: the fused engine beside its FFTs, the reference engine and the machine; then
# what a pixel costs at sizes with a factor 5 or 7.
set -euo pipefail
cmake --build build/release --target physics_bench projection_bench --parallel 2 >&2
export GOMP_SPINCOUNT=2000
status=0
build/release/bench/physics_bench "$@" || status=$?
build/release/bench/projection_bench sizes || status=$?
exit "$status"
