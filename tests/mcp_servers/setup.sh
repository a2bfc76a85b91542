#!/usr/bin/env bash
# Brings real MCP servers to this machine, once: those for git, fetching and SQLite from PyPI into environments of
# their own, those for files and for everything from npm. Tests of those that are not there are skipped.
# usage: setup.sh TOOLS_FOLDER
set -euo pipefail
cd "$(dirname "$0")/../.."
tools=${1:?a folder to keep the servers in}
for lock in python sqlite; do
  if ! cmp -s "tests/mcp_servers/$lock.txt" "$tools/.$lock"; then
    rm -rf "${tools:?}/$lock"
    .venv/bin/python -m venv "$tools/$lock"
    "$tools/$lock/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps --only-binary :all: -r "tests/mcp_servers/$lock.txt"
    cp "tests/mcp_servers/$lock.txt" "$tools/.$lock"
  fi
done
tests/support/npm.sh tests/mcp_servers/node "$tools/node"
