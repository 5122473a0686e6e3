#!/usr/bin/env bash
# ./run bench probes [--half tune|report] [--set plain|hard|star] [--only TEXT]: scans without a probe.
. "$(dirname "$0")/run_python.sh" bench_probes.py "$@"
