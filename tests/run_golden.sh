#!/usr/bin/env bash
# Runs the "// RUN:" lines of a golden file: %s is the file, tools are found in $BIN, FileCheck in
# $FILECHECK.
set -euo pipefail
file=$1
export PATH="$BIN:$PATH"
FileCheck() { "$FILECHECK" "$@"; }
ran=0
while IFS= read -r command; do
  eval "${command//%s/$file}"
  ran=1
done < <(sed -n 's|^// RUN: ||p' "$file")
[ "$ran" = 1 ] || { echo "$file has no RUN line" >&2; exit 1; }
