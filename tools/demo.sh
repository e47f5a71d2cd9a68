#!/usr/bin/env bash
# The main job: a Llama decode layer from text to fused CUDA to a launched, verified graph. On the
# GPU at full size if there is one, else on the simulator at reduced size.
set -euo pipefail
. "$(dirname "$0")/setup.sh"

say "Building to build/release"
configure build/release -DCMAKE_BUILD_TYPE=Release
cmake --build build/release --target warploom_cli

layer=examples/llama_decode_small.loom
if nvidia-smi -L 2>/dev/null | grep -q '^GPU'; then
  layer=examples/llama_decode.loom
fi

say "warploom compile $layer --report"
build/release/bin/warploom compile "$layer" --report -o /dev/null
say "warploom run $layer --verify --taps"
build/release/bin/warploom run "$layer" --verify --taps
