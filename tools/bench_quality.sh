#!/usr/bin/env bash
# ./run bench quality [--only NAME] [--seeds N]: every quality line with its bar.
exec python3 "$(dirname "$0")/bench_quality.py" "$@"
