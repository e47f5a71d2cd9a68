#!/usr/bin/env bash
# Runs the "// RUN:" lines of a golden file: %s is the file, %t a scratch file (%t.x more of them), tools are found in
# $BIN, FileCheck in $FILECHECK.
set -euo pipefail
file=$1
export PATH="$BIN:$PATH"
FileCheck() { "$FILECHECK" "$@"; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
ran=0
while IFS= read -r command; do
  command=${command//%s/$file}
  eval "${command//%t/$scratch/out}"
  ran=1
done < <(sed -n 's|^// RUN: ||p' "$file")
[ "$ran" = 1 ] || { echo "$file has no RUN line" >&2; exit 1; }
