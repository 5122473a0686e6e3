#!/usr/bin/env bash
# ./run bench workflows [--only NAME] [--seeds N]: the lines of the original's workflows with their bars.
. "$(dirname "$0")/run_python.sh" bench_workflows.py "$@"
