#!/usr/bin/env bash
# The one arrow: which folder may include which. Fails with every line that breaks the rule.
set -euo pipefail
cd "$1"
status=0

# allow FOLDER PATTERN: project includes of FOLDER's sources must match PATTERN.
allow() {
  local bad
  bad=$(grep -rnE '^#include "(ir|passes|codegen|kernels|runtime|api|tools)/' "$1" \
        --include='*.h' --include='*.cpp' --include='*.cuh' --include='*.def' |
        grep -vE "#include \"($2)" || true)
  if [ -n "$bad" ]; then
    echo "$1 may include only ($2):"
    echo "$bad"
    status=1
  fi
}

allow ir/program 'ir/program/'
allow ir 'ir/'
allow passes 'ir/|passes/'
allow codegen 'ir/|codegen/'
allow kernels 'kernels/|ir/(storage|scalar)\.h|ir/ops\.def'
allow runtime 'ir/program/|ir/target\.h|kernels/|runtime/'
allow api '(ir|passes|codegen|runtime|api)/'

cuda=$(grep -rnE '^#include [<"](cuda|nvrtc)' ir passes codegen api || true)
if [ -n "$cuda" ]; then
  echo "CUDA headers belong to runtime/ alone:"
  echo "$cuda"
  status=1
fi
exit $status
