#!/usr/bin/env bash
# ./run bench quality [--only NAME] [--seeds N]: every quality line with its bar.
python=/usr/bin/python3  # Debian's: NumPy, SciPy and h5py come with tools/packages.txt
[ -x "$python" ] || python=python3
exec "$python" "$(dirname "$0")/bench_quality.py" "$@"
