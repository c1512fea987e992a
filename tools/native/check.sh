#!/usr/bin/env bash
# Builds the C extensions for four processors with gcc and clang, every warning an error, and runs their tests there: x86-64 as
# it is, i386 with Debian's 32-bit libraries, arm64 (64-bit ARM) and s390x (big-endian) under qemu. Leaves everything in
# tools/native/work/. tools/native/check.sh [PROCESSOR ...]; without arguments all that can be had are checked.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$PWD/tools/native/work
here=$PWD/.venv/bin/python
warnings="-Wall -Wextra -Wconversion -Wsign-conversion -Werror"
tests="tests/align tests/formats/test_native_tables.py tests/fusion tests/stores/test_memory.py tests/stores/test_native_topk.py
    tests/stages/test_native_bm25.py tests/stages/test_native_merge.py
    tests/statistics/test_permutation.py tests/data/test_corpus.py tests/data/test_arrays_packed_ids.py tests/models/test_int8_network.py"
missing=0

# What is needed to build for a processor, and the flags of gcc and clang for it.
describe() {
    case $1 in
        x86-64) needs="gcc clang" gcc="gcc" clang="clang" ;;
        i386) needs="gcc clang" gcc="gcc -m32 -isystem $work/i386/usr/include/i386-linux-gnu" clang="clang -m32" ;;
        arm64) needs="aarch64-linux-gnu-gcc clang qemu-aarch64" gcc=aarch64-linux-gnu-gcc clang="clang --target=aarch64-linux-gnu" ;;
        s390x) needs="s390x-linux-gnu-gcc clang qemu-s390x" gcc=s390x-linux-gnu-gcc clang="clang --target=s390x-linux-gnu" ;;
        *) echo "$1: no such processor; choose x86-64, i386, arm64 or s390x" >&2 && exit 2 ;;
    esac
}

# The extensions in the current folder, built by one compiler; a warning leaves one out, because they are optional.
build() {
    local compiler=$1 python=$2 headers=$3
    find src -name '*.so' -delete
    rm -rf build
    CC=$compiler LDSHARED="$compiler -shared" CFLAGS="$warnings -Wno-ignored-optimization-argument -isystem $headers" \
        "$python" setup.py build_ext --inplace --force >build.log 2>&1 || { tail -20 build.log >&2 && return 1; }
    local built
    built=$(find src -name '*.so' | wc -l)
    [ "$built" = "$(find src/rankproof/_native -maxdepth 1 -name '*.c' | wc -l)" ] ||
        { grep -E 'warning|error' build.log | head -20 >&2 && return 1; }
    echo "$processor: $built extensions without a warning by ${compiler%% *}"
}

check() {
    local processor=$1 python=$here sysroot="" headers
    describe "$processor"
    for command in $needs; do
        if ! command -v "$command" >/dev/null; then
            echo "$processor: not checked, $command is not installed" >&2
            missing=1
            return
        fi
    done
    if [ "$processor" != x86-64 ]; then
        bash tools/native/debian_root.sh "$processor" "$work/$processor"
        python=$work/$processor/python
        sysroot="--sysroot=$work/$processor"
    fi
    headers=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')
    rm -rf "$work/tree-$processor"
    mkdir -p "$work/tree-$processor"
    cp -r src tests setup.py pyproject.toml README.md LICENSE "$work/tree-$processor"
    cd "$work/tree-$processor"
    build "$clang $sysroot" "$python" "$headers"
    build "$gcc $sysroot" "$python" "$headers"
    # shellcheck disable=SC2086
    PYTHONPATH=src "$python" -m pytest -q -p no:cacheprovider --hypothesis-profile=fast -k "$(runnable)" $tests | tail -3
    cd - >/dev/null
}

# Tests of encoders need tokenizers, which Debian does not have; pyarrow's tests skip themselves.
runnable() {
    "$python" -c 'import tokenizers' 2>/dev/null || echo "not int8_is_near and not types_of_a_pair and not overflow_are_reported"
}

[ $# -gt 0 ] || set -- x86-64 i386 arm64 s390x
for processor in "$@"; do check "$processor"; done
exit $missing
