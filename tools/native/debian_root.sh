#!/usr/bin/env bash
# Makes a folder of Debian's packages for another processor, with Python, numpy, pytest and the C library's headers, and a
# command `python` in it that runs there, under qemu where this processor cannot: tools/native/debian_root.sh s390x FOLDER
# Nothing is installed on this machine and no right of the administrator is needed.
set -euo pipefail
architecture=$1
root=$2
suite=trixie # the first release of Debian with numpy 2
packages="python3-dev python3-setuptools python3-numpy python3-scipy python3-pandas python3-pytest python3-hypothesis python3-rich
    python3-jinja2 python3-httpx python3-zstandard python3-safetensors python3-stemmer python3-threadpoolctl"

case $architecture in
    i386) triple=i386-linux-gnu emulator= ;;
    arm64) triple=aarch64-linux-gnu emulator=qemu-aarch64 ;;
    s390x) triple=s390x-linux-gnu emulator=qemu-s390x ;;
    *) echo "$architecture: no such processor; choose i386, arm64 or s390x" >&2 && exit 2 ;;
esac
[ -e "$root/python" ] && exit 0
rm -rf "$root"
mkdir -p "$root/usr/lib" "$root/apt/lists/partial" "$root/apt/archives/partial" "$root/apt/etc"
root=$(cd "$root" && pwd)
touch "$root/apt/status"
mirror=$(apt-cache policy | sed -n 's#.* \(https\?://[^ ]*/debian\) .*#\1#p' | head -n 1)
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" >"$root/apt/sources"
options=(-q -y -o Dir::State::lists="$root/apt/lists" -o Dir::State::status="$root/apt/status" -o Dir::Cache="$root/apt"
    -o Dir::Etc="$root/apt/etc" -o Dir::Etc::sourcelist="$root/apt/sources" -o Dir::Etc::sourceparts=- -o Debug::NoLocking=1
    -o APT::Architecture="$architecture" -o APT::Architectures="$architecture" -o APT::Install-Recommends=false
    -o APT::Sandbox::User="$(id -un)" -o Acquire::Languages=none)
# shellcheck disable=SC2086
{ apt-get "${options[@]}" update && apt-get "${options[@]}" --download-only install $packages; } >"$root/apt/log" 2>&1 ||
    { tail -5 "$root/apt/log" >&2 && exit 1; }
for directory in bin sbin lib; do ln -s "usr/$directory" "$root/$directory"; done
for package in "$root"/apt/archives/*.deb; do dpkg-deb -x "$package" "$root"; done
rm -r "$root/apt"

libraries=$root/usr/lib/$triple
libraries=$libraries:$libraries/blas:$libraries/lapack
if [ -n "$emulator" ]; then
    start="$emulator -L $root -E LD_LIBRARY_PATH=$libraries"
else
    start="$root/lib/ld-linux.so.2 --library-path $libraries"
fi
python=$(cd "$root/usr/bin" && echo python3.[0-9][0-9])
mkdir "$root/site"
echo "import sys; sys.executable = '$root/python'" >"$root/site/sitecustomize.py"
cat >"$root/python" <<END
#!/bin/sh
PYTHONHOME=$root/usr PYTHONPATH=\$PYTHONPATH:$root/site exec $start $root/usr/bin/$python "\$@"
END
chmod +x "$root/python"
