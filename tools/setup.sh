# Sourced by demo.sh and test.sh: installs what is missing, builds to build/release.
# Works on Debian 12 and Ubuntu 24.04, as root or with sudo. Second runs install nothing.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

say() { printf '\n== %s\n' "$*"; }

packages=(build-essential cmake ninja-build ccache pkg-config python3 python3-venv graphviz
          llvm-19-dev llvm-19-tools zlib1g-dev libzstd-dev libz3-dev
          libboost-graph-dev libboost-context-dev libgtest-dev libgmock-dev "$@")

install_packages() {
  local missing=()
  for package in "${packages[@]}"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q '^install ok installed' ||
      missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  say "Installing ${missing[*]}"
  local sudo=""
  [ "$(id -u)" = 0 ] || sudo=sudo
  $sudo apt-get update -qq
  $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends \
    "${missing[@]}" >/dev/null
}

# NVRTC from the wheel nvidia-cuda-nvrtc, into build/cuda; prints the library's path.
nvrtc_from_wheel() {
  local library
  library=$(find build/cuda -name 'libnvrtc.so.*' 2>/dev/null | head -n 1)
  if [ -z "$library" ]; then
    say "Fetching NVRTC from the wheel nvidia-cuda-nvrtc" >&2
    python3 -m venv build/venv >&2
    build/venv/bin/pip install -q --no-deps --target build/cuda 'nvidia-cuda-nvrtc==13.0.*' >&2
    library=$(find build/cuda -name 'libnvrtc.so.*' | head -n 1)
  fi
  echo "$root/$library"
}

# An installed toolkit serves as it is; without one, or with WARPLOOM_WHEELS=1, the wheel does.
find_nvrtc() {
  if [ -n "${WARPLOOM_NVRTC:-}" ]; then
    return 0
  fi
  if [ "${WARPLOOM_WHEELS:-0}" = 1 ] || ! ls "${CUDA_HOME:-/usr/local/cuda}"/lib64/libnvrtc.so.1? \
       >/dev/null 2>&1 && ! ldconfig -p | grep -q 'libnvrtc\.so\.1[23]'; then
    WARPLOOM_NVRTC=$(nvrtc_from_wheel)
    export WARPLOOM_NVRTC
  fi
}

# configure FOLDER OPTIONS...; quiet unless it fails.
configure() {
  local folder=$1
  shift
  mkdir -p "$folder"
  cmake -S . -B "$folder" -G Ninja "$@" >"$folder/configure.log" 2>&1 ||
    { cat "$folder/configure.log"; return 1; }
}

install_packages
find_nvrtc
