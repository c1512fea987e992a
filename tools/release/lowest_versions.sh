#!/usr/bin/env bash
# Runs the tests with the lowest versions that pyproject.toml allows, in an environment of its own outside the checkout.
# usage: tools/release/lowest_versions.sh UV PYTHON [what pytest takes …]; the versions are printed first
set -euo pipefail
uv=$(realpath "$1") python=$2
shift 2
cd "$(dirname "$0")/../.."
place=${RANKPROOF_LOWEST:-$(mktemp -d)}
extras="retrieval zstd parquet pandas polars datasets pgserver chroma tantivy lancedb ray plot mlflow local"
# shellcheck disable=SC2046
"$uv" pip compile --quiet --resolution lowest-direct --python "$python" --only-binary :all: --no-header --no-annotate \
  $(printf -- '--extra %s ' $extras) pyproject.toml -o "$place/lowest.txt"
"$uv" venv --quiet --clear --seed --python "$python" "$place/venv"
# The test tools come from the extra `test`, and are as new as those versions let them be.
"$uv" pip install --quiet --python "$place/venv/bin/python" -r "$place/lowest.txt" -c "$place/lowest.txt" setuptools '.[test]'
"$place/venv/bin/python" --version
cat "$place/lowest.txt"
# Old libraries warn of what newer ones beside them have changed, and old pyarrow cannot make what two tests read: neither is tried here.
"$place/venv/bin/python" -m pytest -o filterwarnings=default -p no:cacheprovider -m 'not browser' \
  --deselect tests/align/test_native_arrow.py::test_text_ids_of_every_kind_give_what_the_reference_gives \
  --deselect 'tests/formats/test_frames.py::test_every_type_of_text_in_parquet_is_an_id[kind3]' "$@"
