#!/usr/bin/env bash
# The demo: a simulated scan, reconstructed and scored against the truth. Run by ./run demo after the
# build.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
ptyche=build/release/ptyche
rm -rf out/demo  # of an earlier demo
mkdir -p out/demo
SECONDS=0
"$ptyche" simulate -o out/demo/scan.cxi --n-patterns 625
"$ptyche" reconstruct out/demo/scan.cxi -o out/demo --hold-out 0.05
printf '\ntime      %d s in all\n' "$SECONDS"
