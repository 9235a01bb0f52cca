#!/usr/bin/env bash
# Builds the API reference where doxygen is there; what is public and has no comment, or one that doxygen doesn't understand, makes it fail.
# check_reference.sh BUILD
set -euo pipefail
output=$(cd "$1" && pwd)/reference
cd "$(dirname "$0")/../.."
if ! command -v doxygen >/dev/null; then
  echo "rondo-skip: reference: doxygen is not installed"
  exit 0
fi
mkdir -p "$output"
{ cat docs/reference/Doxyfile; echo "OUTPUT_DIRECTORY = $output"; } | doxygen -
