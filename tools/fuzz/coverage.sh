#!/usr/bin/env bash
# Measures which lines of the C code the native tests and the corpora of the fuzzers reach, and lists the others. Everything lies in
# tools/fuzz/work/covered. Fails below 95% of the lines.
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
python=$PWD/.venv/bin/python
source tools/fuzz/native_tests.sh
flags="-fprofile-instr-generate -fcoverage-mapping"

build_copy tools/fuzz/work/covered "$flags"
mkdir profiles
export LLVM_PROFILE_FILE=$PWD/profiles/%8m.profraw
export PYTHONPATH=src:tests
"$python" -m tools.fuzz.allocations
"$python" -m pytest -q -p no:cacheprovider "${NATIVE_TESTS[@]}"
objects=(src/rankproof/_native/*.so)
for harness in reader arrow documents; do
    corpus=$root/tools/fuzz/work/corpora/$harness
    mkdir -p "$corpus"
    write_seeds "$harness" "$corpus"
    build_harness "$harness" "$harness" -fsanitize=fuzzer $flags
    "./$harness" "$corpus" -runs=0
    objects+=("$harness")
done
# A test that ends a process, or limits the size of its files, leaves part of a profile.
llvm-profdata merge -failure-mode=all -o merged profiles/*.profraw
llvm-cov export -format=lcov -instr-profile merged "${objects[0]}" $(printf -- '-object %s ' "${objects[@]:1}") >lines.info
"$python" tools/fuzz/covered_lines.py lines.info
