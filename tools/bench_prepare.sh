#!/usr/bin/env bash
# ./run bench prepare [--only checks|images] [--half NAME] [--scans N]: what is told of faults, and what becomes of them.
. "$(dirname "$0")/run_python.sh" bench_prepare.py "$@"
