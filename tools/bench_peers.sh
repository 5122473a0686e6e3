#!/usr/bin/env bash
# ./run bench peers --peers PYTHON: our solvers beside pty-chi and CDTools on the same patterns.
. "$(dirname "$0")/run_python.sh" bench_peers.py "$@"
