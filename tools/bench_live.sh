#!/usr/bin/env bash
# ./run bench live: rate and lag of live runs beside real senders, what is lost, and what the page costs.
. "$(dirname "$0")/run_python.sh" bench_live.py "$@"
