#!/usr/bin/env bash
# ./run bench before OTHER_PTYCHE [--scores]: what a change of the program did to its results.
. "$(dirname "$0")/run_python.sh" bench_before.py "$@"
