#!/usr/bin/env bash
# ./run bench physics: the fused engine beside its FFTs, the reference engine and the machine.
set -euo pipefail
cmake --build build/release --target physics_bench --parallel 2 >&2
GOMP_SPINCOUNT=2000 build/release/bench/physics_bench "$@"
