#!/usr/bin/env bash
# ./run bench quality [--only NAME] [--seeds N]: every quality line with its bar.
. "$(dirname "$0")/run_python.sh" bench_quality.py "$@"
