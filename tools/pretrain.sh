#!/usr/bin/env bash
# ./run pretrain [HOURS]: trains the network for every scan on the universe beside this file. HOURS
# (default 4) are hours of two cores that do nothing else; they set the number of epochs, so that
# the same HOURS give the same network on any machine with as many threads. What was stopped goes on.
set -euo pipefail

epochs_per_hour=180
hours=${1:-4}
folder=${PTYCHE_PRETRAIN_OUT:-out/pretrain}
here=$(dirname "${BASH_SOURCE[0]}")

[[ $hours =~ ^[0-9]*\.?[0-9]+$ ]] || {
  echo "pretrain: expected a number of hours, found '$hours'" >&2
  exit 2
}
epochs=$(awk -v h="$hours" -v e="$epochs_per_hour" \
  'BEGIN { n = int(h * e + 0.5); print (n < 1 ? 1 : n) }')
resume=()
[ -e "$folder/checkpoint.ptyche" ] && resume=(--resume)
echo "pretrain: $epochs epochs of 100 scans -> $folder/model.ptyche" >&2
exec build/release/ptyche train --universe "$here/pretrain/universe.toml" -o "$folder" \
  --epochs "$epochs" --seed 1 --precision float32 --stored-weights float16 --verbose "${resume[@]}"
