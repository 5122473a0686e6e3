#!/usr/bin/env bash
# ./run bench workflows [--only NAME] [--seeds N]: what PtychoPINN's workflows give, every number beside its bar.
. "$(dirname "$0")/run_python.sh" bench_workflows.py "$@"
