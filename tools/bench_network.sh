#!/usr/bin/env bash
# ./run bench network [--only trust|training|start] [--half tune|report|fresh|last|new|next|later|few]: the network that comes with the program.
. "$(dirname "$0")/run_python.sh" bench_network.py "$@"
