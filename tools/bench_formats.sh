#!/usr/bin/env bash
# ./run bench formats [--only TEXT] [--quick]: one scan in the layouts of the field, read and solved. Filters for h5py: pip install hdf5plugin.
. "$(dirname "$0")/run_python.sh" bench_formats.py "$@"
