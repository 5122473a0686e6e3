#!/usr/bin/env bash
# ./run bench solvers [--only NAME]: image and speed of the iterative solvers, with their bars.
. "$(dirname "$0")/run_python.sh" bench_solvers.py "$@"
