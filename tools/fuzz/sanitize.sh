#!/usr/bin/env bash
# Runs the tests of the native parts with the extensions, their glue to Python included, built under AddressSanitizer and
# UndefinedBehaviorSanitizer; the build lies in tools/fuzz/work/sanitized and leaves the ordinary one alone.
set -euo pipefail
cd "$(dirname "$0")/../.."
python=$PWD/.venv/bin/python
source tools/fuzz/native_tests.sh

build_sanitized
sanitized_python -m tools.fuzz.allocations
sanitized_python -m pytest -p no:cacheprovider "${NATIVE_TESTS[@]}"
