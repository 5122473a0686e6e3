#!/usr/bin/env bash
# Everything that a release consists of, in one folder: the packages, what is in packaging/, their SHA256 sums and a page
# "your machine, what to type". Run by ./run release after the build; twice for one commit it makes the same bytes.
# usage: tools/release.sh BUILD OUT
#   PTYCHE_DOWNLOAD  URL of the folder in which the publisher will put the files; the page says it where it is set
set -euo pipefail
umask 022
build=${1:?usage: tools/release.sh BUILD OUT} out=${2:?usage: tools/release.sh BUILD OUT}
tools=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
version=$("$build/ptyche" --version | cut -d' ' -f2)
[ -z "$(git status --porcelain 2>/dev/null)" ] ||
  echo "Not all changes are committed: the files are not those of the commit that they name." >&2

# section HEADING: of docs/install.md, with its heading.
section() { sed -n "/^## $1/,/^## /{/^## $1/p;/^## /!p}" "$tools/../docs/install.md"; }

# page: what to type on which machine, how far it was tried, and where the files are to be had.
page() {
  printf '# Ptyche %s\n\n%s\n\n' "$version" "$("$build/ptyche" --version)"
  if [ -n "${PTYCHE_DOWNLOAD:-}" ]; then
    cat <<PAGE
The files are in <$PTYCHE_DOWNLOAD>, FILE is the one for your machine:

    FROM=$PTYCHE_DOWNLOAD
    for file in SHA256SUMS FILE; do curl -fLO "\$FROM/\$file"; done
    sha256sum --ignore-missing -c SHA256SUMS

PAGE
  fi
  section 'Your machine' | grep -vF './run release'
  section 'What was tried'
}

rm -rf "${out:?}"
"$tools/package.sh" "$build" "$out" tar wheel rpm deb
cp -r "$tools"/../packaging/. "$out"
page >"$out/INSTALL.md"
for file in "$out"/ptyche*{.tar.gz,.whl,.rpm,.deb}; do
  grep -qF "${file##*/}" "$out/INSTALL.md" || {
    echo "release: docs/install.md does not name ${file##*/}" >&2
    exit 1
  }
done
sums=$(cd "$out" && find . -type f -printf '%P\0' | sort -z | xargs -0 sha256sum)
printf '%s\n' "$sums" >"$out/SHA256SUMS"
echo "$out: $(wc -l <"$out/SHA256SUMS") files, their sums in SHA256SUMS, what to type in INSTALL.md"
