#!/usr/bin/env bash
# Unpacks a CPython of another Debian suite with the libraries it needs; nothing is installed, and no rights are needed.
# usage: tools/release/debian_python.sh VERSION FOLDER PATCHELF [SUITE]; the interpreter is FOLDER/usr/bin/pythonVERSION
set -euo pipefail
version=$1 root=$(realpath -m "$2") patchelf=$3 suite=${4:-testing}
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
mirror=$(apt-cache policy | sed -n 's#.* \(https\?://[^ ]*/debian\) .*#\1#p' | head -n 1)
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" > "$place/sources.list"
mkdir -p "$place/lists/partial" "$place/archives/partial" "$root"
touch "$place/status"
apt() {
  apt-get -qq -o Dir::Etc::sourcelist="$place/sources.list" -o Dir::Etc::sourceparts=- -o Dir::State="$place" -o Dir::State::status="$place/status" \
    -o Dir::Cache="$place" -o APT::Sandbox::User=root -o Debug::NoLocking=1 "$@"
}
apt update
apt install --download-only --no-install-recommends --yes "python$version-venv" libstdc++6
for package in "$place"/archives/*.deb; do dpkg --extract "$package" "$root"; done
libraries=$(dirname "$root"/usr/lib/*/libc.so.6)
# Two calls: one call that changes both breaks an executable that is not position-independent.
"$patchelf" --force-rpath --set-rpath "$libraries" "$root/usr/bin/python$version"
"$patchelf" --set-interpreter "$(ls "$libraries"/ld-linux*.so.*)" "$root/usr/bin/python$version"
"$root/usr/bin/python$version" -c 'import ctypes, lzma, sqlite3, ssl, sys; print(sys.version)'
