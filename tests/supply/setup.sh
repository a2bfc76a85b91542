#!/usr/bin/env bash
# Unpacks a Python that is newer than this Debian has, from Debian's unstable suite, with the libraries that it was built
# with; nothing is installed, and no root is needed. The newest one that can be had, so it is not locked.
# usage: setup.sh FOLDER VERSION
set -euo pipefail
to=${1:?a folder to keep the Python in}
version=${2:?a version, such as 3.14}
[ ! -e "$to/.ready" ] || exit 0
if [ "$(uname -s)-$(uname -m)" != Linux-x86_64 ] || ! command -v apt-get dpkg-deb >/dev/null; then
  echo "Python $version is set up on Debian for x86-64 only." >&2
  exit 1
fi
# The mirror that this machine uses.
mirror=$(grep -hEos 'https?://[^ ]+/debian/?( |$)' /etc/apt/sources.list /etc/apt/sources.list.d/* | grep -v snapshot |
  head -n 1 | tr -d ' ' || true)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch"/{lists,cache/archives,debs}/partial "$scratch/state" "$scratch/root"
touch "$scratch/status"
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${mirror:-http://deb.debian.org/debian} sid main" >"$scratch/sources"
apt=(apt-get -qq -o "Dir::Etc::sourcelist=$scratch/sources" -o Dir::Etc::sourceparts=/dev/null -o APT::Sandbox::User=
  -o "Dir::State=$scratch/state" -o "Dir::State::lists=$scratch/lists" -o "Dir::Cache=$scratch/cache"
  -o "Dir::State::status=$scratch/status" -o Debug::NoLocking=1)
"${apt[@]}" update
cd "$scratch/debs"
"${apt[@]}" download "python$version" "python$version-minimal" "libpython$version-minimal" "libpython$version-stdlib" \
  libc6 libgcc-s1 libstdc++6 libexpat1 libssl3t64 zlib1g libsqlite3-0 libffi8 libbz2-1.0 liblzma5 libuuid1 libzstd1 \
  libncursesw6 libtinfo6 libreadline8t64 patchelf
for each in *.deb; do dpkg-deb -x "$each" "$scratch/root"; done
libraries=usr/lib/x86_64-linux-gnu
rm -rf "$to"
mkdir -p "$to"
cp -a "$scratch/root/." "$to"
# Its own loader and libraries: those of this Debian are older. In the other order, patchelf 0.18 breaks the program.
patchelf=("$to/$libraries/ld-linux-x86-64.so.2" --library-path "$to/$libraries" "$to/usr/bin/patchelf")
"${patchelf[@]}" --force-rpath --set-rpath "$to/$libraries" "$to/usr/bin/python$version"
"${patchelf[@]}" --set-interpreter "$to/$libraries/ld-linux-x86-64.so.2" "$to/usr/bin/python$version"
"$to/usr/bin/python$version" -I -c 'import ssl, sqlite3, ctypes'
touch "$to/.ready"
