#!/usr/bin/env bash
# All tests, on a fresh Debian 12 or Ubuntu 24.04.
#   --quick   the release build and its tests alone: no sanitizers, no clang-tidy, fewer mutations
set -euo pipefail
quick=0
for argument in "$@"; do
  case $argument in
    --quick) quick=1 ;;
    *) echo "usage: tools/test.sh [--quick]" >&2; exit 2 ;;
  esac
done
. "$(dirname "$0")/setup.sh" clang-format clang-tidy
export WARPLOOM_QUICK=$quick

say "Lines by folder"
for folder in ir passes codegen kernels runtime api tools tests examples; do
  printf '%-10s %6d\n' "$folder" "$(git ls-files "$folder" | xargs cat | wc -l)"
done

say "Format"
git ls-files '*.h' '*.cpp' '*.cuh' | xargs clang-format --dry-run --Werror

say "Building to build/release"
configure build/release -DCMAKE_BUILD_TYPE=Release
cmake --build build/release

say "Tests"
ctest --test-dir build/release --output-on-failure -j2

say "Kernels through the NVRTC of the wheel"
WARPLOOM_NVRTC=$(nvrtc_from_wheel) ctest --test-dir build/release --output-on-failure -j2 -L nvrtc

if [ "$quick" = 0 ]; then
  say "Tests under AddressSanitizer and UndefinedBehaviorSanitizer"
  configure build/sanitize -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O1\ -g1 \
    -DWARPLOOM_SANITIZE=ON
  cmake --build build/sanitize --target ir_tests passes_tests
  ctest --test-dir build/sanitize --output-on-failure -j2 -R '^(Dim|Parse|Print|Verify|Shape|Fuse|Pass|Mutat)'

  say "clang-tidy"
  git ls-files 'ir/*.cpp' 'passes/*.cpp' 'codegen/*.cpp' 'runtime/*.cpp' 'api/*.cpp' 'tools/*.cpp' |
    xargs -P 2 -n 4 clang-tidy -p build/release --quiet
fi

say "All tests passed"
