#!/usr/bin/env bash
# usage: tools/check_commands_doc.sh PTYCHE
# Fails where docs/commands.md is not what the program PTYCHE prints of its commands.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if ! "$1" __docs | diff -u docs/commands.md -; then
  echo "docs/commands.md is stale. To renew it: build/release/ptyche __docs > docs/commands.md"
  exit 1
fi
