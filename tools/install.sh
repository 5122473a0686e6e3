#!/usr/bin/env bash
# Installs what was built, with its libraries, into a folder. Run by ./run install after the build.
# usage: tools/install.sh BUILD [PREFIX]
set -euo pipefail
umask 022
build=${1:?usage: tools/install.sh BUILD [PREFIX]}
prefix=${2:-}
if [ -z "$prefix" ]; then
  prefix=/usr/local
  # shellcheck disable=SC2088  # words for the user
  [ -w "$prefix/bin" ] || { prefix=~/.local && echo "/usr/local may not be written to: installing into ~/.local"; }
fi
mkdir -p "$prefix"
prefix=$(realpath "$prefix")
# On the same file system, so that everything comes to its place by being renamed.
stage=$(mktemp -d "$prefix/.ptyche.XXXXXX")
trap 'rm -rf "$stage"' EXIT

# replace_folder NAME: the old one stays until the new one is in its place; a run that is under way keeps the
# files that it has open.
replace_folder() {
  local old=$stage/old/$1
  mkdir -p "${old%/*}" "$(dirname "$prefix/$1")"
  [ ! -e "$prefix/$1" ] || mv -T "$prefix/$1" "$old"
  mv -T "$stage/$1" "$prefix/$1" || {
    mv -T "$old" "$prefix/$1"
    exit 1
  }
}

replace_files() {
  local file
  while IFS= read -r -d '' file; do
    mkdir -p "$(dirname "$prefix/$file")"
    mv -fT "$stage/$file" "$prefix/$file"
  done < <(cd "$stage" && find bin share \( -type f -o -type l \) -print0)
}

cmake --install "$build" --prefix "$stage" >"$stage/log" || {
  cat "$stage/log" >&2
  exit 1
}
replace_folder lib/ptyche
replace_folder share/doc/ptyche
replace_files
echo "Installed $("$prefix/bin/ptyche" --version) as $prefix/bin/ptyche ($(du -sh "$prefix/lib/ptyche" | cut -f1))"
[ "$(command -v ptyche)" = "$prefix/bin/ptyche" ] || echo "To call it 'ptyche': export PATH=\"$prefix/bin:\$PATH\""
