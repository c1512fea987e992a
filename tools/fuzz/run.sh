#!/usr/bin/env bash
# Fuzzes the native reader under AddressSanitizer and UndefinedBehaviorSanitizer: tools/fuzz/run.sh [seconds], 60 by default.
# Says how many inputs were tried, how much code they reached and what was found; leaves everything in tools/fuzz/work/.
set -euo pipefail
cd "$(dirname "$0")"
seconds=${1:-60}
compiler=${CLANG:-clang}
python=${PYTHON:-python3}
work=work

if ! command -v "$compiler" >/dev/null; then
    echo "fuzzing needs clang with libFuzzer; on Debian or Ubuntu: apt-get install clang libclang-rt-14-dev" >&2
    exit 1
fi
mkdir -p "$work/corpus" "$work/findings"
if ! "$compiler" -std=c11 -g -O1 -Wall -Wextra -Werror -Wno-unused-function -fsanitize=fuzzer,address,undefined \
    -fno-sanitize-recover=all -fno-omit-frame-pointer reader.c -o "$work/reader" 2>"$work/build.log"; then
    cat "$work/build.log" >&2
    echo "the harness was not built; libFuzzer's runtime comes with: apt-get install libclang-rt-14-dev" >&2
    exit 1
fi
"$python" seeds.py "$work/corpus"

status=0
"$work/reader" "$work/corpus" -dict=reader.dict -max_len=4096 -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
    -artifact_prefix="$work/findings/" -print_final_stats=1 >"$work/fuzz.log" 2>&1 || status=$?

executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$work/fuzz.log" | tail -1)
reached=$(grep -o 'cov: [0-9]* ft: [0-9]*' "$work/fuzz.log" | tail -1)
found=$(find "$work/findings" -type f | wc -l)
echo "executions: ${executions:-unknown}"
echo "reached: ${reached:-unknown} (edges, features); corpus: $(find "$work/corpus" -type f | wc -l) inputs"
echo "findings: $found in tools/fuzz/$work/findings"
if [ "$status" -ne 0 ] || [ "$found" -ne 0 ]; then
    tail -40 "$work/fuzz.log" >&2
    exit 1
fi
