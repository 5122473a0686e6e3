#!/usr/bin/env bash
# The demo: a simulated scan, reconstructed and scored against the truth. Run by ./run demo after the
# build.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
ptyche=build/release/ptyche
mkdir -p out/demo
SECONDS=0
"$ptyche" simulate -o out/demo/scan.cxi --frames 625
"$ptyche" reconstruct out/demo/scan.cxi -o out/demo --hold-out 0.05
printf '\nscores\n'
sed -n 's/^ *"\([^"]*\)": \(-\{0,1\}[0-9][^,]*\),\{0,1\}$/  \1 \2/p' out/demo/scores.json
printf '\ntime    %d s\nreport  %s\n' "$SECONDS" "$PWD/out/demo/report.html"
