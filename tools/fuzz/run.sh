#!/usr/bin/env bash
# Fuzzes the native code under AddressSanitizer and UndefinedBehaviorSanitizer, with bytes and with the objects that Python passes,
# and the JSON of reports: tools/fuzz/run.sh [seconds for each harness, 60].
# Says how many inputs were tried, how much code they reached and what was found; leaves everything in tools/fuzz/work/.
set -euo pipefail
cd "$(dirname "$0")/../.."
python=$PWD/.venv/bin/python
seconds=${1:-60}
work=$PWD/tools/fuzz/work
source tools/fuzz/native_tests.sh

# fuzz NAME MOST_BYTES: runs the harness NAME.c over its corpus.
fuzz() {
    local name=$1 corpus=$work/corpora/$1 findings=$work/findings/$1 log=$work/$1.log status=0
    mkdir -p "$corpus" "$findings"
    build_harness "$1" "$work/$name" -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
    write_seeds "$name" "$corpus"
    "$work/$name" "$corpus" -dict="tools/fuzz/$name.dict" -max_len="$2" -max_total_time="$seconds" -timeout=60 -rss_limit_mb=2048 \
        -artifact_prefix="$findings/" -print_final_stats=1 >"$log" 2>&1 || status=$?
    echo "$name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log" | tail -1) executions," \
        "$(grep -o 'cov: [0-9]*' "$log" | tail -1 | cut -c6-) edges, $(find "$corpus" -type f | wc -l) inputs kept," \
        "$(find "$findings" -type f | wc -l) findings in $findings"
    if [ "$status" -ne 0 ]; then
        tail -40 "$log" >&2
        failed=1
    fi
}

failed=0
needs_clang
mkdir -p "$work"
fuzz reader 4096
fuzz arrow 1024
fuzz documents 512
build_sanitized
sanitized_python -m tools.fuzz.objects "$seconds" || failed=1
exit "$failed"
