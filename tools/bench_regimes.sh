#!/usr/bin/env bash
# ./run bench regimes [--share 0|1|2] [--size N] [--draw FILE.svg]: where a network pays.
. "$(dirname "$0")/run_python.sh" bench_regimes.py "$@"
