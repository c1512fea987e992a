#!/usr/bin/env bash
# Tests the wheel in dist/ with the lowest or the highest versions that pyproject.toml allows, in an environment of its own outside the checkout.
# usage: tools/release/test_versions.sh lowest-direct|highest UV PYTHON [what pytest takes …]; the versions are printed first
set -euo pipefail
resolution=$1 uv=$(realpath "$2") python=$3
shift 3
cd "$(dirname "$0")/../.."
wheel=$(ls dist/*.whl) || { echo "dist has no wheel; run: make package" >&2; exit 2; }
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
extras="retrieval zstd parquet pandas polars datasets pgserver chroma tantivy lancedb qdrant milvus ray plot mlflow local"
# shellcheck disable=SC2046
"$uv" pip compile --quiet --resolution "$resolution" --python "$python" --only-binary :all: --no-header --no-annotate \
  $(printf -- '--extra %s ' $extras) pyproject.toml -o "$place/versions.txt"
"$uv" venv --quiet --seed --python "$python" "$place/venv"
# The test tools come from the extra `test`, and are as new as those versions let them be.
"$uv" pip install --quiet --python "$place/venv/bin/python" -r "$place/versions.txt" -c "$place/versions.txt" setuptools "$wheel[test]"
"$place/venv/bin/python" --version
cat "$place/versions.txt"
left_out=()
if [ "$resolution" = lowest-direct ]; then
  # Old libraries warn of what newer ones beside them have changed, and old pyarrow cannot make what three tests read: neither is tried here.
  left_out=(-o filterwarnings=default
    --deselect tests/align/test_native_arrow.py::test_text_ids_of_every_kind_give_what_the_reference_gives
    --deselect 'tests/contracts/test_fuzz.py::test_the_first_cases_hold[arrow tables]'
    --deselect 'tests/formats/test_frames.py::test_every_type_of_text_in_parquet_is_an_id[kind3]')
fi
"$place/venv/bin/python" -m pytest -p no:cacheprovider "${left_out[@]}" "$@"
