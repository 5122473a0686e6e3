#!/usr/bin/env bash
# ./run bench defaults [--half tune|report|few|low|tune-faults|...] [--only TEXT]: what `reconstruct` gives without options.
. "$(dirname "$0")/run_python.sh" bench_defaults.py "$@"
