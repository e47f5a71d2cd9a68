#!/usr/bin/env bash
# All tests, on a fresh Debian 12 or Ubuntu 24.04.
#   --quick   the release build and its tests alone, without the layers at full size on the simulator, the wheel's NVRTC,
#             clang-tidy and the sanitizers
set -euo pipefail
quick=0
for argument in "$@"; do
  case $argument in
    --quick) quick=1 ;;
    *) echo "usage: tools/test.sh [--quick]" >&2; exit 2 ;;
  esac
done
# Both tools change their mind with their version; both distributions have this one.
. "$(dirname "$0")/setup.sh" clang-format-14 $([ "$quick" = 1 ] || echo clang-tidy-14)

say "Lines by folder"
for folder in ir passes codegen kernels runtime api tools tests examples; do
  printf '%-10s %6d\n' "$folder" "$(git ls-files "$folder" | xargs cat | wc -l)"
done

say "Format"
git ls-files '*.h' '*.cpp' '*.cuh' | xargs clang-format-14 --dry-run --Werror

say "Building to build/release"
configure build/release -DCMAKE_BUILD_TYPE=Release
cmake --build build/release

say "Tests"
if [ "$quick" = 1 ]; then
  ctest --test-dir build/release --output-on-failure -j2 -E AtFullSize
else
  ctest --test-dir build/release --output-on-failure -j2

  say "Kernels through the NVRTC of the wheel"
  WARPLOOM_NVRTC=$(nvrtc_from_wheel) ctest --test-dir build/release --output-on-failure -j2 -L nvrtc

  say "clang-tidy"
  run-clang-tidy-14 -quiet -p build/release "$PWD/(ir|passes|codegen|runtime|api|tools)/.*\.cpp" >build/tidy.log 2>&1 ||
    { grep -E -A4 'error:' build/tidy.log; exit 1; }

  say "Tests under AddressSanitizer and UndefinedBehaviorSanitizer"
  configure build/sanitize -DCMAKE_BUILD_TYPE=Debug '-DCMAKE_CXX_FLAGS_DEBUG=-O1 -g1' \
    -DWARPLOOM_SANITIZE=ON
  cmake --build build/sanitize --target ir_tests codegen_tests tools_tests
  for suite in ir codegen tools; do
    build/sanitize/bin/${suite}_tests --gtest_brief=1
  done
fi

say "All tests passed"
