#!/usr/bin/env bash
# ./run bench stem [--half tune|report] [--rotation-only]: raw stacks of a microscope whose raster lies turned.
. "$(dirname "$0")/run_python.sh" bench_stem.py "$@"
