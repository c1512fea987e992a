# For scripts in the root folder of the project: the tests of native code, and the ways in which it is built.
NATIVE_TESTS=(
    tests/align tests/contracts/test_native_arguments.py tests/data/test_arrays_packed_ids.py tests/data/test_corpus.py
    tests/evaluation/test_evaluate.py
    tests/formats/test_documents.py tests/formats/test_native_tables.py tests/fusion tests/models/test_int8_network.py
    tests/models/test_wordllama.py tests/models/test_wordpiece.py tests/stages/test_bm25_index.py tests/stages/test_native_bm25.py
    tests/stages/test_native_merge.py tests/statistics/test_permutation.py tests/stores/test_memory.py tests/stores/test_native_topk.py
)

needs_clang() {
    if ! command -v clang >/dev/null || ! command -v llvm-cov >/dev/null; then
        echo "this needs clang, its runtime and llvm; on Debian or Ubuntu: apt-get install clang llvm libclang-rt-14-dev" >&2
        exit 1
    fi
}

# build_copy FOLDER FLAGS: copies the tree to FOLDER, goes there, and builds the extensions with clang and FLAGS. Allocations can be
# told to fail, as tools/fuzz/allocations.py does.
build_copy() {
    needs_clang
    rm -rf "$1"
    mkdir -p "$1/tools/fuzz" "$1/benchmarks"
    cp -r src tests setup.py pyproject.toml README.md LICENSE "$1"
    cp benchmarks/*.py "$1/benchmarks"
    cp tools/*.py "$1/tools"
    cp tools/fuzz/*.* "$1/tools/fuzz"
    cd "$1"
    find src -name '*.so' -delete
    CC=clang LDSHARED="clang -shared $2" \
        CFLAGS="$2 -g -O1 -Werror=implicit-function-declaration -include $PWD/tools/fuzz/faults.h" \
        "$python" setup.py -q build_ext --inplace --force
}

# build_sanitized: such a copy under AddressSanitizer and UndefinedBehaviorSanitizer, in tools/fuzz/work/sanitized.
build_sanitized() {
    build_copy tools/fuzz/work/sanitized "-fsanitize=address,undefined -fno-sanitize-recover=undefined -shared-libasan"
}

# sanitized_python ARGUMENTS...: Python in that copy. Python itself leaves memory at its end.
sanitized_python() {
    PYTHONPATH=src:tests LD_PRELOAD=$(clang -print-file-name=libclang_rt.asan-x86_64.so) ASAN_OPTIONS=detect_leaks=0 "$python" "$@"
}

# build_harness NAME PROGRAM FLAGS...: builds a harness of this folder. Comparisons are not traced, which makes it twice as fast.
build_harness() {
    local name=$1 program=$2
    shift 2
    clang -std=c11 -g -O2 -Wall -Wextra -Werror -Wno-unused-function -fno-sanitize-coverage=trace-cmp "$@" \
        "tools/fuzz/$name.c" -o "$program"
}

# write_seeds NAME FOLDER: the seed inputs of a harness.
write_seeds() { "$python" tools/fuzz/seeds.py "$1" "$2"; }
