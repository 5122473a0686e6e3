#!/usr/bin/env bash
# A .tar.gz that runs where it is unpacked, a .deb and an .rpm with the same files; a wheel with them for Python.
# Run by ./run package, wheel and release after the build.
# usage: tools/package.sh BUILD OUT [tar] [deb] [rpm] [wheel]
set -euo pipefail
umask 022
build=${1:?usage: tools/package.sh BUILD OUT [tar] [deb] [rpm] [wheel]} out=$2
shift 2
formats=" ${*:-tar deb rpm} "
tools=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
version=$("$build/ptyche" --version | cut -d' ' -f2)
name=ptyche-$version-linux-x86_64
maintainer='The Ptyche developers <ptyche@localhost>'
# One time for all files, so that two packages of one commit have the same bytes.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || date +%s)
export SOURCE_DATE_EPOCH
mkdir -p "$out"
stage=$(mktemp -d "$out/.stage.XXXXXX")
trap 'rm -rf "$stage"' EXIT

# finished FILE: out of the stage, whole or not at all, with what there is to say of it.
finished() {
  local file=$out/${1##*/}
  mv -f "$1" "$file"
  printf '%s  %s MB  sha256 %s\n' "$file" "$(($(stat -c %s "$file") / 1000000))" \
    "$(sha256sum "$file" | cut -c1-16)"
}

make_tar() {
  tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" \
    -C "$stage" -czf "$stage/$name.tar.gz" "$name"
  finished "$stage/$name.tar.gz"
}

# What Debian's policy wants to be elsewhere, packed, or said. ROOT
debian_layout() {
  local share=$1/usr/share doc=$1/usr/share/doc/ptyche
  mkdir -p "$1/DEBIAN" "$share/lintian/overrides"
  mv "$share/zsh/site-functions" "$share/zsh/vendor-completions"
  {
    cat "$doc/LICENSE"
    printf '\nThe libraries and fonts in /usr/lib/ptyche: licences/ beside this file.\n'
  } >"$doc/copyright"
  rm "$doc/LICENSE"
  printf 'ptyche (%s) unstable; urgency=medium\n\n  * CHANGELOG.md.gz has the changes.\n\n -- %s  %s\n' \
    "$version" "$maintainer" "$(date -R -u -d "@$SOURCE_DATE_EPOCH")" >"$doc/changelog"
  gzip -9n "$share"/man/man1/*.1 "$doc/changelog" "$doc/CHANGELOG.md"
  # One package for several distributions cannot depend on the libraries and fonts of one of them, not even on
  # its glibc, and nobody answers letters about it.
  printf 'ptyche: %s\n' statically-linked-binary undeclared-elf-prerequisites shared-library-is-executable \
    shared-library-lacks-prerequisites embedded-library custom-library-search-path duplicate-font-file extra-license-file \
    bogus-mail-host bogus-mail-host-in-debian-changelog >"$share/lintian/overrides/ptyche"
  control "$1" >"$1/DEBIAN/control"
  (cd "$1" && find usr -type f -print0 | sort -z | xargs -0 md5sum >DEBIAN/md5sums)
}

control() {
  cat <<CONTROL
Package: ptyche
Version: $version
Architecture: amd64
Maintainer: $maintainer
Installed-Size: $(du -sk "$1/usr" | cut -f1)
Section: science
Priority: optional
Description: images from ptychography scans
 Ptyche turns a ptychography scan (thousands of diffraction patterns taken at
 known positions) into the complex image of the sample, by iterative solvers or
 by a network that is trained on the scan. All libraries are in the package.
CONTROL
}

# xz at its first level: the next ones take four times as long for 5 % less.
make_deb() {
  local root=$stage/root file=$stage/ptyche_${version}_amd64.deb
  mkdir "$root"
  mv "$stage/$name" "$root/usr"
  debian_layout "$root"
  dpkg-deb --root-owner-group -Zxz -z1 --build "$root" "$file" >/dev/null
  finished "$file"
}

# The others are of the same files, before the .deb moves them.
make_rpm() {
  local top rc=0
  command -v rpmbuild >/dev/null || {
    echo "package.sh: the .rpm needs rpmbuild (Debian: apt-get install rpm)" >&2
    return 1
  }
  top=$(mktemp -d) # rpmbuild takes no folder with a blank
  ln -s "$(realpath "$stage")/$name" "$top/stage"
  rpmbuild -bb --quiet --target x86_64-linux --define "_topdir $top" --define "_rpmdir $top" \
    --define "_build_name_fmt ptyche.rpm" --define "_tmppath $top" --define "stage $top/stage/" \
    --define "program_version $version" "$tools/../packaging/ptyche.spec" >"$stage/log" 2>&1 || rc=$?
  [ $rc != 0 ] || mv "$top/ptyche.rpm" "$stage/ptyche-$version-1.x86_64.rpm"
  rm -rf "$top"
  [ $rc = 0 ] || {
    cat "$stage/log" >&2
    return 1
  }
  finished "$stage/ptyche-$version-1.x86_64.rpm"
}

make_wheel() {
  local file
  file=$(python3 "$tools/wheel.py" "$stage/$name" "$stage")
  finished "$file"
}

cmake --install "$build" --prefix "$stage/$name" >"$stage/log" || {
  cat "$stage/log" >&2
  exit 1
}
checked=$("$tools/check_bundle.sh" "$stage/$name")
case "$formats" in *' tar '*) make_tar ;; esac
case "$formats" in *' wheel '*) make_wheel ;; esac
case "$formats" in *' rpm '*) make_rpm ;; esac
case "$formats" in *' deb '*) make_deb ;; esac
printf 'checked: starts in an empty environment; %s\n' "$checked"
