#!/usr/bin/env bash
# Installs what lies in dist/ into fresh environments outside the checkout, as a user would, and tries each; prints what each step took.
# usage: tools/release/try_install.sh [PYTHON]
set -euo pipefail
python=${1:-python3}
dist=$(cd "$(dirname "$0")/../../dist" && pwd)
script=$(cd "$(dirname "$0")/../../tests/contracts/typed" && pwd)/public_api.py
smoke=$(cd "$(dirname "$0")" && pwd)/smoke.py
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
export LC_ALL=C.UTF-8 RANKPROOF_CACHE=$place/cache PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONPATH=
cd "$place"

step() {
  local what=$1 began=${EPOCHREALTIME/./} tenths
  shift
  "$@" > "$place/said" 2>&1 || { cat "$place/said"; echo "failed: $what"; exit 1; }
  tenths=$(( (${EPOCHREALTIME/./} - began) / 100000 ))
  printf '%4d.%d s  %s\n' $((tenths / 10)) $((tenths % 10)) "$what"
}

cat > qrels.txt <<< $'q1 0 d1 2\nq1 0 d2 0\nq2 0 d3 1'
cat > mine.run <<< $'q1 Q0 d2 1 9.1 mine\nq1 Q0 d1 2 8.7 mine\nq2 Q0 d3 1 4.2 mine'
for archive in "$dist"/*.whl "$dist"/*.tar.gz; do
  kind=${archive##*.}
  step "a fresh environment" "$python" -m venv "$kind"
  step "pip install $(basename "$archive")" "$kind/bin/pip" install --quiet "$archive"
  step "tools/release/smoke.py" "$kind/bin/python" "$smoke"
  step "pip install '$(basename "$archive")[retrieval]'" "$kind/bin/pip" install --quiet "$archive[retrieval]"
  step "rankproof --version" "$kind/bin/rankproof" --version
  step "rankproof eval qrels.txt mine.run" "$kind/bin/rankproof" eval qrels.txt mine.run
  step "rankproof models get wordllama" "$kind/bin/rankproof" models get wordllama
  step "rankproof run" "$kind/bin/rankproof" run -o "results-$kind"
done
step "an environment with pipx and mypy" "$python" -m venv with-pipx
step "pip install pipx mypy" with-pipx/bin/pip install --quiet pipx mypy
step "mypy --strict on a user's script" with-pipx/bin/mypy --strict --python-executable whl/bin/python --cache-dir "$place/types" "$script"
export PIPX_HOME=$place/pipx PIPX_BIN_DIR=$place/bin PIPX_MAN_DIR=$place/man
step "pipx install the wheel" with-pipx/bin/pipx install --python "$(command -v "$python")" "$dist"/*.whl
step "rankproof eval, installed by pipx" bin/rankproof eval qrels.txt mine.run
