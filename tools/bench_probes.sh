#!/usr/bin/env bash
# ./run bench defaults [--half tune|report] [--only TEXT]: what `reconstruct` gives without options.
. "$(dirname "$0")/run_python.sh" bench_probes.py "$@"
