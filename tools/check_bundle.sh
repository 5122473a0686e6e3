#!/usr/bin/env bash
# Checks a program that was laid out by `cmake --install`: that it starts in an empty environment, that no
# library is taken from outside but glibc's own, and that each has its licence. Prints what it found, and
# exits with 1 where something is wrong.
# usage: tools/check_bundle.sh FOLDER
set -euo pipefail
folder=$(realpath "${1:?usage: tools/check_bundle.sh FOLDER}")
bundle=$folder/lib/ptyche
fail() {
  printf 'check_bundle: %s\n' "$*" >&2
  exit 1
}

# loaded_by FILE: name and path of every library that the dynamic linker would load.
loaded_by() {
  env -i ldd "$1" | sed -En 's/^\t(\S+) => not found$/\1 nowhere/p; s/^\t(\S+) => (.*) \(0x[0-9a-f]+\)$/\1 \2/p'
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

"$folder/bin/ptyche" --version >/dev/null || fail "the program does not start"
check_libraries "$bundle/bin/ptyche"
check_libraries "$bundle/bin/ptyche-program"
licences=$folder/share/doc/ptyche/licences
for text in packages.txt torch-*/LICENSE nvidia_cuda_runtime-*/License.txt fonts-dejavu-core; do
  compgen -G "$licences/$text" >/dev/null || fail "no $licences/$text"
done
printf '%s libraries in the package, of the system only those of glibc %s or newer; %s licences\n' \
  "$(find "$bundle/lib" -type f | wc -l)" "$(needed GLIBC)" "$(find "$licences" -type f | wc -l)"
