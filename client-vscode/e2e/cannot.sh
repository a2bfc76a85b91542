#!/usr/bin/env bash
# Says why this machine cannot carry a real workbench, and succeeds then; says nothing and fails where it can.
# `cannot.sh --missing` lists the Debian packages that are still to be installed.
missing() {
  command -v chromium >/dev/null || command -v chromium-browser >/dev/null || echo chromium fonts-dejavu-core
  command -v g++ >/dev/null || echo g++
  command -v make >/dev/null || echo make
}
[ "${1:-}" != --missing ] || { missing && exit; }
wanted=$(missing)
wanted=${wanted//$'\n'/ }
if [ "$(uname -s)-$(uname -m)" != Linux-x86_64 ]; then
  echo "the workbench is brought up on Linux for x86-64 only, and this is $(uname -s)-$(uname -m)"
elif ! command -v npm >/dev/null; then
  echo "npm, which fetches the workbench, is not installed"
elif [ -n "$wanted" ] && ! command -v apt-get >/dev/null; then
  echo "there is no apt-get to install $wanted with"
elif [ -n "$wanted" ] && [ "$(id -u)" != 0 ]; then
  echo "only root can install $wanted"
else
  exit 1
fi
