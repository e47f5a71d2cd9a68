#!/usr/bin/env bash
# Compile time of each example layer, from an empty cache and from a full one, in milliseconds.
# Exits 1 if a layer is over its bar: 2000 cold, 50 warm.
#   tools/bench/compile_latency.sh [build/release/bin/warploom]
set -euo pipefail
cd "$(dirname "$0")/../.."
warploom=${1:-build/release/bin/warploom}
cache=$(mktemp -d)
trap 'rm -rf "$cache"' EXIT
over=0

# total LAYER: the time that the report gives.
total() {
  "$warploom" compile "examples/$1.loom" --cache-dir "$cache/$1" --report=json -o /dev/null 2>&1 |
    sed -n 's/.*"total": \([0-9]*\).*/\1/p'
}

printf '%-14s %8s %8s\n' layer 'cold ms' 'warm ms'
for layer in gpt2_decode gpt2_prefill bert_encoder llama_decode llama_prefill vit_block; do
  cold=$(total "$layer")
  warm=$(total "$layer")
  printf '%-14s %8d %8d\n' "$layer" "$cold" "$warm"
  if [ "$cold" -gt 2000 ] || [ "$warm" -gt 50 ]; then
    over=1
  fi
done
exit $over
