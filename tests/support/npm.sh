#!/usr/bin/env bash
# Installs the locked packages of a folder from npm into another, once; no package runs a script of its own meanwhile.
# usage: npm.sh FOLDER_WITH_LOCK TARGET
set -euo pipefail
source=${1:?a folder with package.json and package-lock.json} target=${2:?a folder to install into}
if ! command -v npm >/dev/null; then
  echo "There is no npm to fetch the packages of $source with." >&2
elif ! cmp -s "$source/package-lock.json" "$target/.lock"; then
  rm -rf "$target"
  mkdir -p "$target"
  cp "$source/package.json" "$source/package-lock.json" "$target"
  (cd "$target" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error)
  cp "$source/package-lock.json" "$target/.lock"
fi
