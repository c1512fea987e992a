#!/usr/bin/env bash
# Runs the tests of the native parts with the extensions, their glue to Python included, built under AddressSanitizer and
# UndefinedBehaviorSanitizer; the build lies in tools/fuzz/work/sanitized and leaves the ordinary one alone.
set -euo pipefail
cd "$(dirname "$0")/../.."
python=$PWD/.venv/bin/python
source tools/fuzz/native_tests.sh

build_copy tools/fuzz/work/sanitized "-fsanitize=address,undefined -fno-sanitize-recover=undefined -shared-libasan"
PYTHONPATH=src LD_PRELOAD=$(clang -print-file-name=libclang_rt.asan-x86_64.so) ASAN_OPTIONS=detect_leaks=0 \
    "$python" -m pytest -p no:cacheprovider "${NATIVE_TESTS[@]}"
