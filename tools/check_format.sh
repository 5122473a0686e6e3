#!/usr/bin/env bash
# Fails, naming file and line, where a source file is not as clang-format 14 would write it (versions
# differ in details). Exit code 77 (skipped) where another version or none is installed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if ! clang-format --version 2>/dev/null | grep -q 'version 14\.'; then
  echo "skipped: needs clang-format 14, found $(clang-format --version 2>&1 || true)"
  exit 77
fi
# shellcheck source=tools/sources.sh
. tools/sources.sh
source_files | xargs -0 clang-format --dry-run -Werror --ferror-limit=3
