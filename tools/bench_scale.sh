#!/usr/bin/env bash
# ./run bench scale: what a pattern costs in small and in large scans, and the memory of a solve.
. "$(dirname "$0")/run_python.sh" bench_scale.py "$@"
