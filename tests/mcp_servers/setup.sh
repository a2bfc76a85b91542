#!/usr/bin/env bash
# Brings real MCP servers to this machine, once: those for git and fetching from PyPI into an environment of
# their own, those for files and for everything from npm. Tests of those that are not there are skipped.
# usage: setup.sh TOOLS_FOLDER
set -euo pipefail
cd "$(dirname "$0")/../.."
tools=${1:?a folder to keep the servers in}
lock=tests/mcp_servers/requirements.txt
if ! cmp -s "$lock" "$tools/.requirements"; then
  rm -rf "$tools/python"
  .venv/bin/python -m venv "$tools/python"
  "$tools/python/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps --only-binary :all: -r "$lock"
  cp "$lock" "$tools/.requirements"
fi
tests/support/npm.sh tests/mcp_servers/node "$tools/node"
