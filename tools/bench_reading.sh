#!/usr/bin/env bash
# ./run bench reading: how fast scans are read, and `info` answers, beside the decoders alone. Filters for h5py: pip install hdf5plugin.
. "$(dirname "$0")/run_python.sh" bench_reading.py "$@"
