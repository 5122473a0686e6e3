#!/usr/bin/env bash
# ./run bench verdict [--half tune|report|sixth] [--only TEXT]: verdicts beside the truth that they do not know.
. "$(dirname "$0")/run_python.sh" bench_verdict.py "$@"
