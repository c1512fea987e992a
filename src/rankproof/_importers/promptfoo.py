"""Tests and results of promptfoo: variables become questions and contexts, assertions with a text become reference answers."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

from rankproof._data.text import pluralise
from rankproof._extras import extra
from rankproof._formats.columns import names_for_message
from rankproof._formats.source_table import SourceTable
from rankproof._importers.base import Imported, ImportOptions, ImportSource
from rankproof._importers.rag import merged_logs
from rankproof._importers.rag_tables import rows_under
from rankproof.errors import InputError, for_message

IMPORTER = "promptfoo"
_QUESTIONS = ("question", "query", "user_input", "input", "prompt", "user_query", "q", "topic", "message", "text")
_CONTEXTS = ("contexts", "retrieved_contexts", "context", "documents")
_REFERENCES = ("expected_answer", "expectedanswer", "reference_answer", "reference", "ground_truth", "expected", "answer")
_TEXT_ASSERTS = (
    *("equals", "contains", "icontains", "contains-any", "icontains-any", "starts-with", "factuality"),
    *("similar", "similar:cosine", "similar:dot", "similar:euclidean"),
    *("model-graded-factuality", "context-recall", "rouge-n", "bleu", "gleu", "meteor", "levenshtein"),
)
"""Assertions whose value is a text that a right answer has or resembles."""
_LISTS = ("contains-any", "icontains-any")
_EXPECTED = re.compile(r"__expected[0-9]*")
_KINDS = "|".join(
    (
        *(r"i?contains(?:-[a-z]+)?", r"is-[a-z-]+", r"context-[a-z]+", r"rouge-[a-z]", r"model-graded-[a-z]+", r"trace-[a-z-]+"),
        *(
            r"similar(?::cosine|:dot|:euclidean)?",
            r"trajectory:[a-z-]+",
            r"perplexity(?:-score)?",
            r"(?:conversation|answer)-relevance",
        ),
        *("bleu", "classifier", "cost", "equals", "eval", "factuality", "finish-reason", "fn", "g-eval", "gleu", "grade"),
        *("guardrails", "human", "javascript", "latency", "levenshtein", "llm-rubric", "max-score", "meteor", "moderation", "pi"),
        *("python", "regex", "ruby", "search-rubric", "select-best", "skill-used", "starts-with", "tool-call-f1", "webhook"),
        "word-count",
    )
)
_PREFIXED = re.compile(rf"(?P<type>(?:not-)?(?:{_KINDS}))(?:\([0-9.]+\))?(?::\s*(?P<value>.*))?", re.DOTALL)
"""An assertion in a cell of a CSV file; any other text is the answer itself, even one with a colon."""
_RESULT_KEYS = ("response", "testCase", "promptIdx", "success")
_TEMPLATE = re.compile(r"\{\{\s*([\w.-]+)\s*\}\}")
_YAML = re.compile(r"(?:^|\n)\s*(?:-\s+)?(?:tests|vars|defaultTest)\s*:")
_YAML_SUFFIXES = (".yaml", ".yml")
_MOST_VALUES, _DEEPEST = 2_000_000, 100
_SAMPLED_LINES, _SAMPLED_ROWS = 400, 20
_OTHER_FILE = "file://"


class PromptfooImporter:
    """Configurations with tests, files of tests, and results, whose providers are systems."""

    has_grades = False
    settings: Mapping[str, str] = {
        "question": "the variable of the question, if it is not found by name",
        "contexts": "the variable of the retrieved contexts",
        "reference": "the variable of the reference answer, beside those of assertions",
    }

    def detect(self, source: ImportSource) -> bool:
        """Whether every file has tests with variables, a column __expected, or results with variables."""
        return bool(source.plain_files) and all(_is_promptfoo(source, path) for path in source.plain_files)

    def read(self, source: ImportSource, options: ImportOptions) -> Imported:
        """The tests as questions with references, and the outputs of providers as answers."""
        reader = _TestReader(options)
        tables = {_without_suffix(name): reader.table(_tests(source, path)) for path, name in source.system_names.items()}
        imported = merged_logs(tables, source, IMPORTER, fields=("description",))
        notes = (*imported.report.notes, *reader.notes())
        return replace(imported, report=replace(imported.report, columns=reader.columns(), notes=notes))


def _without_suffix(name: str) -> str:
    stem, suffix = os.path.splitext(name)
    return stem if suffix.lower() in _YAML_SUFFIXES else name


def _is_promptfoo(source: ImportSource, path: str) -> bool:
    form = source.format_of(path)
    if form == "text" and path.lower().endswith(_YAML_SUFFIXES):
        return _YAML.search("".join(text for _, text in islice(source.lines_of(path), _SAMPLED_LINES))) is not None
    if form == "json" and isinstance(source.json_of(path).value, dict):
        value = source.json_of(path).value
        return _results_path(value) is not None or _has_vars(value.get("tests"))
    table = source.table_of(path)
    if form == "text":
        return any(_EXPECTED.fullmatch(name) for name in table.names)
    return "vars" in table.names and _has_vars([row for _, row in islice(table.rows(), _SAMPLED_ROWS)])


def _has_vars(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(item, dict) and isinstance(item.get("vars"), dict) for item in value)


def _results_path(value: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Where the list of results is, in the versions of promptfoo's JSON."""
    inside = value.get("results")
    if isinstance(inside, dict) and _has_vars(inside.get("results")):
        return "results", "results"
    return ("results",) if _has_vars(inside) else None


def _tests(source: ImportSource, path: str) -> SourceTable:
    """The tests of the file, with what applies to all of them under `defaultTest`."""
    form = source.format_of(path)
    if form == "text" and os.path.splitext(path)[1].lower() in _YAML_SUFFIXES:
        return _yaml_tests(source, path)
    if form != "json" or not isinstance(source.json_of(path).value, dict):
        return source.table_of(path)
    content = source.json_of(path)
    path_of_tests = _results_path(content.value)
    if path_of_tests is None and not _has_vars(content.value.get("tests")):
        raise _no_tests(path)
    rows = rows_under_objects(content, *(path_of_tests or ("tests",)))
    return _with_default(rows, content.value.get("defaultTest"))


def rows_under_objects(content: Any, *path: str) -> SourceTable:
    """The objects of the list; an item of another kind, such as the name of a file, is a row without variables."""
    rows = content.value
    for key in path:
        rows = rows[key]
    if all(isinstance(row, dict) for row in rows):
        return rows_under(content, *path)
    plain = [row if isinstance(row, dict) else {_OTHER_FILE: row} for row in rows]
    return SourceTable(content.source, ("vars",), lambda: ((1, row) for row in plain))


def _no_tests(path: str) -> InputError:
    return InputError("no tests with vars", fix='write tests: [{"vars": {"question": "…"}}]', source=path)


def _with_default(table: SourceTable, default: Any) -> SourceTable:
    """The tests with the variables and assertions that apply to all of them."""
    if not isinstance(default, dict):
        return table
    asserts, variables = default.get("assert"), default.get("vars")

    def rows() -> Iterator[tuple[int, Any]]:
        for line, row in table.rows():
            own, own_asserts = row.get("vars"), row.get("assert")
            both = [*(own_asserts if isinstance(own_asserts, list) else []), *(asserts if isinstance(asserts, list) else [])]
            shared = variables if isinstance(variables, dict) else {}
            yield line, {**row, "assert": both, "vars": {**shared, **own} if isinstance(own, dict) else own}

    return SourceTable(table.source, table.names, rows)


def _yaml_tests(source: ImportSource, path: str) -> SourceTable:
    """The tests of a configuration, or of a list of tests, with the line of each."""
    with extra("yaml"):
        import yaml
    text = "".join(line for _, line in source.lines_of(path)).removeprefix("\ufeff")
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        what = f"not valid YAML: {for_message(str(getattr(error, 'problem', None) or error))}"
        raise InputError(what, fix="correct the line", source=path, line=mark.line + 1 if mark else None) from None
    except (RecursionError, ValueError) as error:
        what = "values nested too deeply" if isinstance(error, RecursionError) else "not valid YAML"
        raise InputError(what, fix="write the tests as a list of vars", source=path) from None
    reader = _YamlReader(path)
    default = None
    if isinstance(root, yaml.MappingNode):
        parts = {key.value: node for key, node in root.value if isinstance(key, yaml.ScalarNode)}
        default = reader.plain(parts["defaultTest"]) if "defaultTest" in parts else None
        root = parts.get("tests")
    if not isinstance(root, yaml.SequenceNode):
        raise _no_tests(path)
    rows = [(node.start_mark.line + 1, reader.plain(node)) for node in root.value]
    made = [(line, row if isinstance(row, dict) else {_OTHER_FILE: row}) for line, row in rows]
    if not any(isinstance(row.get("vars"), dict) for _, row in made):
        raise _no_tests(path)
    return _with_default(SourceTable(path, ("vars", "assert"), lambda: iter(made)), default)


class _YamlReader:
    """Makes plain values of YAML nodes; texts stay texts, and values that repeat themselves by aliases are bounded."""

    def __init__(self, path: str) -> None:
        self._path, self._count = path, 0

    def plain(self, node: Any, depth: int = 0) -> Any:
        """The value as JSON has it; numbers and booleans are kept as their text."""
        self._count += 1
        line = node.start_mark.line + 1
        if self._count > _MOST_VALUES or depth > _DEEPEST:
            what = "too many values, or nested too deeply"
            raise InputError(what, fix="write the tests without aliases", source=self._path, line=line)
        if node.id == "sequence":
            return [self.plain(item, depth + 1) for item in node.value]
        if node.id == "scalar":
            return None if node.tag == "tag:yaml.org,2002:null" else node.value
        members: dict[str, Any] = {}
        for key, value in node.value:
            name = key.value if key.id == "scalar" else None
            if name is None or name in members:
                what = "a key that is no text" if name is None else f"the key {for_message(name)} comes twice"
                raise InputError(what, fix="write each key once", source=self._path, line=key.start_mark.line + 1)
            members[name] = self.plain(value, depth + 1)
        return members


class _TestReader:
    """Makes rows of a RAG log of tests, and counts the assertions that say nothing of a right answer."""

    def __init__(self, options: ImportOptions) -> None:
        self._settings = options.settings
        self._columns: dict[str, dict[str, None]] = {}
        self._other_types: Counter[str] = Counter()
        self._unused: dict[str, None] = {}
        self._elsewhere = self._templates = 0

    def table(self, tests: SourceTable) -> SourceTable:
        """The tests as a table of a RAG log."""
        several = len({prompt for _, test in tests.rows() if type(prompt := test.get("promptIdx")) is int}) > 1
        rows = [(line, row) for line, test in tests.rows() for row in self._rows(test, several_prompts=several)]
        names = ("question", "contexts", "answers", "response", "system", "description")
        used = tuple(name for name in names if name in ("question", "answers") or any(name in row for _, row in rows))
        return SourceTable(tests.source, used, lambda: iter(rows))

    def columns(self) -> dict[str, str]:
        """The variable of each column."""
        return {role: " or ".join(names) for role, names in self._columns.items()}

    def notes(self) -> Iterator[str]:
        """What is not used."""
        if self._other_types:
            listed = ", ".join(f"{for_message(name)} {count:,}" for name, count in self._other_types.most_common())
            yield f"assertions that name no reference answer: {listed}"
        if self._templates:
            yield f"{pluralise(self._templates, 'assertion')} with a template or a file as value, not used"
        if self._elsewhere:
            yield f"{pluralise(self._elsewhere, 'test')} in other files, not read: pass these files"
        if self._unused:
            yield f"variables that are not used: {names_for_message(tuple(self._unused))}"

    def _rows(self, test: Mapping[str, Any], *, several_prompts: bool) -> Iterator[dict[str, Any]]:
        """A row for each value of the question, which may be a list."""
        if _OTHER_FILE in test:
            self._elsewhere += 1
            return
        inside = test.get("testCase")
        case = {**(inside if isinstance(inside, dict) else {}), **test}
        stated = case.get("vars")
        variables: Mapping[str, Any] = stated if isinstance(stated, dict) else _csv_variables(test)
        name = self._named("question", variables, _QUESTIONS)
        asked = variables.get(name) if name is not None else None
        contexts = self._named("contexts", variables, _CONTEXTS)
        reference = self._named("reference", variables, _REFERENCES)
        self._unused.update({variable: None for variable in variables if variable not in (name, contexts, reference)})
        row: dict[str, Any] = {"answers": self._references(case, variables, reference), **_outputs(test, several_prompts)}
        if contexts is not None:
            row["contexts"] = variables[contexts]
        if isinstance(described := case.get("description", case.get("__description")), str) and described:
            row["description"] = described
        for question in asked if isinstance(asked, list) else [asked]:
            yield {**row, "question": question}

    def _named(self, role: str, variables: Mapping[str, Any], usual: tuple[str, ...]) -> str | None:
        """The variable of the role: the one that the setting names, the usual one, or the only one for a question."""
        setting = self._settings.get(role)
        known = {name.lower(): name for name in variables}
        variable = (
            setting
            if setting in variables
            else next((known[lower] for lower in usual if lower in known), None)
            if not setting
            else None
        )
        if variable is None and role == "question" and not setting and len(variables) == 1:
            variable = next(iter(variables))
        if variable is not None:
            self._columns.setdefault(role, {})[variable] = None
        return variable

    def _references(self, case: Mapping[str, Any], variables: Mapping[str, Any], name: str | None) -> list[str] | None:
        """The texts of assertions, and of the variable of the reference."""
        own = [variables[name]] if name is not None and isinstance(variables[name], str) and variables[name].strip() else []
        asserts = case.get("assert")
        assertions = [*(asserts if isinstance(asserts, list) else []), *_csv_asserts(case)]
        texts = [text for assertion in assertions for text in self._texts(assertion, variables)]
        return list(dict.fromkeys((*own, *texts))) or None

    def _texts(self, assertion: Any, variables: Mapping[str, Any]) -> Iterator[str]:
        """The texts that an assertion expects; none of another kind, which is counted."""
        kind = str(assertion.get("type")) if isinstance(assertion, dict) else "other"
        if kind not in _TEXT_ASSERTS:
            self._other_types[kind] += 1
            return
        value = assertion.get("value")
        if isinstance(value, str) and kind in _LISTS:
            value = [part.strip() for part in value.split(",")]
        for text in value if isinstance(value, list) else [value]:
            filled = _TEMPLATE.sub(lambda match: str(variables.get(match[1], match[0])), text) if isinstance(text, str) else ""
            if not filled.strip() or "{{" in filled or filled.startswith(_OTHER_FILE):
                self._templates += 1
            else:
                yield filled.strip()


def _csv_variables(row: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of a CSV file that are variables: those without two underscores in front."""
    return {name: value for name, value in row.items() if not name.startswith("__") and value not in (None, "")}


def _csv_asserts(row: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The assertions in the columns __expected, __expected1 …: a type and a value, or the value that is equal."""
    for name, value in row.items():
        if _EXPECTED.fullmatch(name) and isinstance(value, str) and value.strip():
            match = _PREFIXED.fullmatch(value.strip())
            yield {"type": match["type"], "value": match["value"]} if match else {"type": "equals", "value": value.strip()}


def _outputs(result: Mapping[str, Any], several_prompts: bool) -> dict[str, Any]:
    """The answer of a result, null where the provider failed, and its provider, with the prompt if there are several."""
    if not any(key in result for key in _RESULT_KEYS):
        return {}
    response, provider, prompt = result.get("response"), result.get("provider"), result.get("promptIdx")
    output = response.get("output") if isinstance(response, dict) else None
    if isinstance(provider, dict):
        provider = provider.get("label") or provider.get("id")
    text = output if isinstance(output, str | None) else json.dumps(output, ensure_ascii=False)
    if not isinstance(provider, str) or not provider:
        return {"response": text}
    return {
        "response": text,
        "system": f"{provider} prompt {prompt + 1}" if several_prompts and type(prompt) is int else provider,
    }


PROMPTFOO = PromptfooImporter()
