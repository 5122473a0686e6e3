#!/usr/bin/env bash
# ./run bench prepare [--only checks] [--half tune|second|third|report|few] [--scans N]: what `info --check` tells of faults.
. "$(dirname "$0")/run_python.sh" bench_prepare.py "$@"
