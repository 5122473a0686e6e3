# shellcheck shell=bash
# What ./run needs before it can build; sourced by it. Everything is checked first, and only what is
# missing is fetched: Debian packages (tools/packages.txt) and LibTorch (tools/requirements.txt).

say() { printf '%s\n' "$*" >&2; }
fail() {
  say "run: $*"
  exit 1
}

# missing_packages USE: those of the list that are not installed, with the ones marked USE.
missing_packages() {
  local installed package use wanted=()
  while read -r package use; do
    case "$package" in '' | '#'*) continue ;; esac
    if [ -z "$use" ] || [ "$use" = "$1" ]; then wanted+=("$package"); fi
  done <tools/packages.txt
  installed=$(dpkg-query -W -f '|${db:Status-Status} ${Package}|' "${wanted[@]}" 2>/dev/null || true)
  for package in "${wanted[@]}"; do
    case "$installed" in *"|installed $package|"*) ;; *) printf '%s ' "$package" ;; esac
  done
}

# refuse_old_system: where the newest cmake to be had is too old, the compiler and some libraries are as well.
refuse_old_system() {
  local needed=3.25 found
  found=$(cmake --version 2>/dev/null | sed -n 's/^cmake version \([0-9.]*\).*/\1/p') || true
  [ -n "$found" ] || found=$(apt-cache policy cmake 2>/dev/null | sed -n 's/^ *Candidate: \([0-9.]*[0-9]\).*/\1/p')
  [ -n "$found" ] || return 0
  [ "$(printf '%s\n' "$needed" "$found" | sort -V | head -n 1)" = "$needed" ] ||
    fail "cmake $found is too old to build Ptyche here, $needed or newer is expected (Debian 12 has it)." \
      "A package runs on this system without being built: docs/install.md"
}

# install_packages [USE]
install_packages() {
  if ! command -v dpkg-query >/dev/null; then
    say "This is no Debian: tools/packages.txt lists what should be installed; going on without."
    return 0
  fi
  local missing as_root=(env DEBIAN_FRONTEND=noninteractive)
  missing=$(missing_packages "${1:-}")
  [ -n "$missing" ] || return 0
  refuse_old_system
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null ||
      fail "these Debian packages are missing, and there is neither root nor sudo to install" \
        "them. Ask someone to run: apt-get install $missing"
    as_root=(sudo env DEBIAN_FRONTEND=noninteractive)
  fi
  say "Installing Debian packages: $missing"
  local log
  log=$(mktemp)
  # shellcheck disable=SC2086  # one word per package
  if ! { "${as_root[@]}" apt-get -qq -o DPkg::Lock::Timeout=600 update ||
    say "The package lists could not be refreshed; trying with those at hand."
    "${as_root[@]}" apt-get -qq -y -o DPkg::Lock::Timeout=600 -o Dpkg::Use-Pty=0 \
      --no-install-recommends install $missing; } </dev/null >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    fail "could not fetch or install these Debian packages (is there a network?): $missing"
  fi
  rm -f "$log"
}

# wheels_folder NAME PACKAGE LIST: by the version of PACKAGE that LIST pins; for LibTorch also the rule of
# cmake/LibTorch.cmake.
wheels_folder() {
  local home=~ version
  version=$(sed -n "s/^$2==\([0-9.]*\).*/\1/p" "$3")
  printf '%s' "${PTYCHE_DEPS:-${XDG_CACHE_HOME:-$home/.cache}/ptyche}/$1-$version"
}
# libtorch_folder PRESET
libtorch_folder() {
  if [ "$1" = cuda ]; then
    wheels_folder libtorch-cuda torch tools/requirements-cuda.txt
  else
    wheels_folder libtorch torch tools/requirements.txt
  fi
}
pvxs_folder() { wheels_folder pvxs pvxslibs tools/requirements-pva.txt; }

# trim_libtorch FOLDER: drops what a C++ program on the CPU never opens, 1.2 GB -> 0.56 GB.
trim_libtorch() {
  rm -rf "${1:?}"/{bin,functorch,torchgen} "$1"/torch/{bin,test} "$1"/nvidia/*/include
  rm -f "$1"/torch/lib/{lib*cuda*,libtorch_python.so,libtorch_nvshmem.so,libcaffe2_nvrtc.so}
  rm -f "$1"/torch/_C*.so
  find "$1/torch" \( -name '*.py' -o -name '*.pyi' \) -delete
  find "$1/torch" -type d -empty -delete
}

# trim_libtorch_cuda FOLDER: what a C++ program never opens.
trim_libtorch_cuda() {
  rm -rf "${1:?}"/{bin,functorch,torchgen} "$1"/torch/{bin,test}
  rm -f "$1"/torch/lib/libtorch_python.so "$1"/torch/_C*.so
  find "$1/torch" \( -name '*.py' -o -name '*.pyi' \) -delete
  find "$1/torch" -type d -empty -delete
}

# fetch_wheels FOLDER LIST: the wheels of the pinned versions, hashes checked, whatever Python is here.
fetch_wheels() {
  local python=/usr/bin/python3
  [ -x "$python" ] || python=python3
  mkdir "$1/tmp"
  TMPDIR="$1/tmp" PIP_ROOT_USER_ACTION=ignore "$python" -m pip install --quiet --disable-pip-version-check --no-cache-dir \
    --no-deps --no-compile --require-hashes --requirement "$2" --target "$1" \
    --only-binary=:all: --implementation cp --python-version 3.11 \
    --platform manylinux_2_28_x86_64 --platform manylinux_2_27_x86_64 --platform manylinux_2_25_x86_64 \
    --platform manylinux_2_18_x86_64 --platform manylinux2014_x86_64 --platform manylinux2010_x86_64 \
    --platform manylinux1_x86_64 </dev/null >&2 || return 1
  rm -rf "$1/tmp"
}

# install_wheels WHAT FOLDER LIST TRIM: into a fresh folder beside the final one, which is trimmed and renamed:
# never half done, and of two that run at once the slower one throws its copy away.
install_wheels() {
  local what=$1 folder=$2 list=$3 trim=$4
  [ -e "$folder/complete" ] && return 0
  [ "$(uname -sm)" = "Linux x86_64" ] || fail "$what is pinned for Linux on x86_64 only"
  say "Fetching $what, once, into $folder"
  mkdir -p "${folder%/*}" || fail "cannot make ${folder%/*}; PTYCHE_DEPS can name another folder"
  fresh=$(mktemp -d "$folder.XXXXXX")
  trap 'rm -rf "$fresh"' EXIT
  fetch_wheels "$fresh" "$list" ||
    fail "could not fetch $what with pip (see above; is there a network?): $(
      sed -n 's/^\([a-z].*==[^ ]*\).*/\1/p' "$list" | tr '\n' ' ')"
  "$trim" "$fresh"
  touch "$fresh/complete"
  chmod 755 "$fresh"
  mv -T "$fresh" "$folder" 2>/dev/null || [ -e "$folder/complete" ] ||
    fail "$folder is in the way and not complete: remove it and try again"
  rm -rf "$fresh"
  trap - EXIT
}
# install_libtorch PRESET
install_libtorch() {
  if [ "$1" = cuda ]; then
    install_wheels "LibTorch with CUDA (3.7 GB of disk)" "$(libtorch_folder cuda)" tools/requirements-cuda.txt \
      trim_libtorch_cuda
  else
    install_wheels "LibTorch (545 MB)" "$(libtorch_folder "$1")" tools/requirements.txt trim_libtorch
  fi
}
install_pvxs() { install_wheels "PVXS (8 MB)" "$(pvxs_folder)" tools/requirements-pva.txt true; }

# How many compilers may run at once: one per core, and 1.6 GB of memory each.
parallel_jobs() {
  local cores key value limit memory_kb=0
  cores=$(nproc)
  while read -r key value _; do
    [ "$key" = MemAvailable: ] && memory_kb=$value
  done </proc/meminfo
  if read -r limit 2>/dev/null </sys/fs/cgroup/memory.max && [ "$limit" != max ] &&
    [ $((limit / 1024)) -lt "$memory_kb" ]; then
    memory_kb=$((limit / 1024))
  fi
  local jobs=$((memory_kb / 1600000))
  [ "$jobs" -ge 1 ] || jobs=1
  [ "$jobs" -le "$cores" ] || jobs=$cores
  printf '%s' "$jobs"
}
