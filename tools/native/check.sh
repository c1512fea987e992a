#!/usr/bin/env bash
# Builds the C extensions for four processors with gcc and clang, every warning an error, and runs there their tests and the
# harnesses of the fuzzers over their seeds: x86-64 as it is, i386 with Debian's 32-bit libraries, arm64 (64-bit ARM) and s390x
# (big-endian) under qemu. Leaves everything in tools/native/work/. tools/native/check.sh [PROCESSOR ...]; without arguments all
# that can be had are checked.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$PWD/tools/native/work
here=$PWD/.venv/bin/python
warnings="-Wall -Wextra -Wconversion -Wsign-conversion -Werror"
tests=${TESTS:-"tests/align tests/contracts/test_native_arguments.py tests/formats/test_native_tables.py tests/fusion
    tests/stores/test_memory.py tests/stores/test_native_topk.py
    tests/stages/test_bm25_index.py tests/stages/test_native_bm25.py tests/stages/test_native_merge.py tests/stages/test_partitions.py
    tests/statistics/test_permutation.py tests/data/test_corpus.py tests/data/test_arrays_packed_ids.py tests/models/test_int8_network.py"}
failed=0

# gcc and clang with their flags for a processor, what runs its programs, and the flags of setup.py that keep floats narrow.
describe() {
    case $1 in
        x86-64) gcc="gcc" clang="clang" emulator="" floats="" ;;
        i386)
            gcc="gcc -m32 -isystem $work/i386/usr/include/i386-linux-gnu" clang="clang -m32" emulator="" floats="-msse2 -mfpmath=sse"
            ;;
        arm64) gcc=aarch64-linux-gnu-gcc clang="clang --target=aarch64-linux-gnu" emulator=qemu-aarch64 floats="" ;;
        s390x)
            gcc=s390x-linux-gnu-gcc clang="clang --target=s390x-linux-gnu" emulator=qemu-s390x floats="-fexcess-precision=fast"
            ;;
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
    for command in ${gcc%% *} clang $emulator; do
        if ! command -v "$command" >/dev/null; then
            echo "$processor: not checked, $command is not installed" >&2
            failed=1
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
    mkdir -p "$work/tree-$processor/benchmarks"
    cp -r src tests setup.py pyproject.toml README.md LICENSE "$work/tree-$processor"
    cp benchmarks/*.py "$work/tree-$processor/benchmarks"
    cd "$work/tree-$processor"
    build "$clang $sysroot" "$python" "$headers"
    build "$gcc $sysroot" "$python" "$headers"
    # shellcheck disable=SC2086
    PYTHONPATH=src "$python" -m pytest -rf -p no:cacheprovider --hypothesis-profile=fast -k "$(runnable)" $tests \
        >tests.log 2>&1 || failed=1
    grep '^FAILED' tests.log || true
    echo "$processor: $(tail -1 tests.log)"
    cd - >/dev/null
    for harness in reader arrow documents; do replay "$harness"; done
}

# replay NAME: runs a harness of the fuzzers over its seeds, once each.
replay() {
    local program=$work/tree-$processor/$1 seeds=$work/tree-$processor/seeds-$1
    # shellcheck disable=SC2086
    $gcc $sysroot -std=c11 -O2 -static -Wall -Wextra -Werror -Wno-unused-function -ffp-contract=off $floats \
        "tools/fuzz/$1.c" tools/native/replay.c -o "$program" -lm
    mkdir "$seeds"
    "$here" tools/fuzz/seeds.py "$1" "$seeds"
    find "$seeds" -type f -print0 | xargs -0 $emulator "$program" >"$program.log" 2>&1 || failed=1
    echo "$processor: $1 over its seeds: $(tail -1 "$program.log")"
}

# Tests of encoders need tokenizers and some of BM25 need bm25s, which Debian does not have; pyarrow's tests skip themselves.
runnable() {
    "$python" -c 'import tokenizers, bm25s' 2>/dev/null || echo "not int8_is_near and not types_of_a_pair and not overflow_are_reported
        and not tokens_of_the_analyzer and not bits_of_bm25s and not in_the_middle_of_a_partition" | tr '\n' ' '
}

[ $# -gt 0 ] || set -- x86-64 i386 arm64 s390x
for processor in "$@"; do check "$processor"; done
exit $failed
