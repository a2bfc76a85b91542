#!/usr/bin/env bash
# Brings real language servers to this machine, once: basedpyright into the virtual environment, that for TypeScript from
# npm, clangd from apt where that can be. Tests of those that are not there are skipped.
# usage: setup.sh TOOLS_FOLDER
set -euo pipefail
cd "$(dirname "$0")/../.."
tools=${1:?a folder to keep the language servers in}
.venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps --only-binary :all: -r supply/locks/languages.txt
tests/support/npm.sh tests/languages/node "$tools"
if ! command -v clangd >/dev/null; then
  if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    apt-get update -qq
    # Another installation may hold the lock for a while.
    DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends clangd >/dev/null
  else
    echo "clangd is not there, and cannot be installed here." >&2
  fi
fi
