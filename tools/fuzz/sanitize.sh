#!/usr/bin/env bash
# Runs the tests of the native parts with the extensions, their glue to Python included, built under AddressSanitizer and
# UndefinedBehaviorSanitizer; the build lies in tools/fuzz/work/sanitized and leaves the ordinary one alone.
set -euo pipefail
cd "$(dirname "$0")/../.."
python=$PWD/.venv/bin/python
flags="-fsanitize=address,undefined -fno-sanitize-recover=undefined -shared-libasan"
copy=tools/fuzz/work/sanitized

if ! command -v clang >/dev/null; then
    echo "this needs clang with its sanitizers; on Debian or Ubuntu: apt-get install clang libclang-rt-14-dev" >&2
    exit 1
fi
rm -rf "$copy"
mkdir -p "$copy"
cp -r src tests setup.py pyproject.toml README.md LICENSE "$copy"
cd "$copy"
find src -name '*.so' -delete
CC=clang LDSHARED="clang -shared $flags" CFLAGS="$flags -g -O1" "$python" setup.py -q build_ext --inplace --force
PYTHONPATH=src LD_PRELOAD=$(clang -print-file-name=libclang_rt.asan-x86_64.so) ASAN_OPTIONS=detect_leaks=0 \
    "$python" -m pytest -p no:cacheprovider \
    tests/align tests/data/test_arrays_packed_ids.py tests/evaluation/test_evaluate.py tests/data/test_corpus.py tests/formats/test_documents.py tests/formats/test_native_tables.py \
    tests/fusion tests/stores/test_memory.py tests/stages/test_bm25_index.py tests/stages/test_native_bm25.py tests/stores/test_native_topk.py tests/statistics/test_permutation.py tests/models/test_wordpiece.py \
    tests/models/test_wordllama.py tests/models/test_int8_network.py
