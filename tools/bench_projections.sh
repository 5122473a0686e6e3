#!/usr/bin/env bash
# ./run bench projections: ePIE, rPIE and difference map in patterns x passes per second, beside the
# limit that two FFTs per pattern set. Arguments: size, modes, threads, repeats.
set -euo pipefail
cmake --build build/release --target projection_bench --parallel 2 >&2
GOMP_SPINCOUNT=2000 build/release/bench/projection_bench "$@"
