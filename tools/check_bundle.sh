#!/usr/bin/env bash
# Checks a program that was laid out by `cmake --install`: that it starts in an empty environment, with the
# system's glibc and with its own, that no library is taken from outside but glibc's, that there are few,
# and that each has its licence. Prints what it found, and exits with 1 where something is wrong.
# usage: tools/check_bundle.sh FOLDER
set -euo pipefail
folder=$(realpath "${1:?usage: tools/check_bundle.sh FOLDER}")
bundle=$folder/lib/ptyche
fail() {
  printf 'check_bundle: %s\n' "$*" >&2
  exit 1
}

# What HDF5, cairo and ZeroMQ can do with the network or a screen, and the program does not.
unwanted='^lib(curl|gnutls|ldap|X11|xcb|ssh2|sasl2)'
most=25 # libraries beside LibTorch's

# loaded_by FILE: name and path of every library that the dynamic linker would load.
loaded_by() {
  env -i ldd "$1" | sed -En 's/^\t(\S+) => not found$/\1 nowhere/p; s/^\t([^/[:space:]]+) => (.*) \(0x[0-9a-f]+\)$/\1 \2/p'
}

# check_libraries FILE: those of glibc, which may come from the system.
check_libraries() {
  local name path
  while read -r name path; do
    case "$(realpath -m "$path")" in "$bundle"/*) continue ;; esac
    case "$name" in
      libc.so.6 | libm.so.6 | libmvec.so.1 | libdl.so.2 | librt.so.1 | libpthread.so.0) ;;
      libutil.so.1 | libresolv.so.2) ;;
      *) fail "$1 takes $name from outside of the package: $path" ;;
    esac
  done < <(loaded_by "$1")
}

# needed GLIBC: the highest version of that library's names that anything in the package asks for.
needed() {
  find "$bundle" -type f \( -name '*.so*' -o -perm -100 \) -exec readelf -VW {} + |
    grep -o "Name: $1_[0-9.]*" | sed "s/.*_//" | sort -Vu | tail -n 1
}

libraries() { find "$bundle/lib" -type f -printf '%f\n'; }

for PTYCHE_GLIBC in system own; do
  env -i PTYCHE_GLIBC=$PTYCHE_GLIBC "$folder/bin/ptyche" info --engines >/dev/null ||
    fail "the program does not start with the glibc of: $PTYCHE_GLIBC"
done
! readelf -lW "$bundle/bin/ptyche" | grep -q INTERP || fail "bin/ptyche needs a dynamic linker, expected none"
readelf -lW "$bundle/bin/ptyche-program" | grep -qF '[Requesting program interpreter: /proc/self/fd/1023]' ||
  fail "bin/ptyche-program names a dynamic linker of the system (tools/set_interpreter.py)"
check_libraries "$bundle/bin/ptyche-program"
found=$(libraries | grep -E "$unwanted") && fail "not wanted in the package: $found"
beside=$(libraries | grep -cvE '^lib(torch|c10|cudart|cupti|gomp)')
[ "$beside" -le $most ] || fail "$beside libraries beside LibTorch's, expected $most at most (cmake/Archives.cmake)"
licences=$folder/share/doc/ptyche/licences
for text in packages.txt torch-*/LICENSE nvidia_cuda_runtime-*/License.txt fonts-dejavu-core libc6 libhdf5-dev; do
  compgen -G "$licences/$text" >/dev/null || fail "no $licences/$text"
done
printf "%s libraries beside LibTorch's and glibc, which is used where the system's is older; %s licences\n" \
  "$beside" "$(find "$licences" -type f | wc -l)"
printf 'glibc %s is carried, its names of %s or older are used\n' \
  "$(grep -aom1 'release version [0-9.]*[0-9]' "$bundle/glibc/libc.so.6" | sed 's/.* //')" "$(needed GLIBC)"
