"""Schemes: those that are shipped, and what is said of one that is malformed."""

from __future__ import annotations

from pathlib import Path

import pytest

from calibrator.errors import ConfigError
from calibrator.generators.scheme import METHODS, found_in, load_scheme, read_scheme, shipped
from calibrator.studies.types.scheme import find_scheme as find_types


@pytest.mark.parametrize("method", METHODS)
def test_every_method_has_one_usual_scheme(method: str) -> None:
    usual = [s for s in map(read_scheme, shipped().values()) if method in s.default_for]
    assert len(usual) == 1
    assert load_scheme(None, method) == usual[0]  # type: ignore[arg-type]


def test_the_file_has_the_name_of_its_scheme() -> None:
    assert {name: read_scheme(path).name for name, path in shipped().items()} == {name: name for name in shipped()}


def test_the_six_types_are_found_by_the_names_that_the_data_has() -> None:
    types = load_scheme(None, "typed").types
    names = "shaming questions humour empathy_affiliation contradiction warning-of-consequences".split()
    assert set(types) == set(names)
    said = {"Warning of Consequences": names[5], "warning": names[5], "humor": names[2], "empathy": names[3]}
    assert {name: found_in(types, name) for name in said} == said
    assert found_in(types, "sarcasm") is None


def test_what_is_generated_has_the_types_that_classifiers_know() -> None:
    """So that `types --train … --test` on what was generated compares like with like."""
    known = find_types("crowdcounter")
    generated = load_scheme("crowdcounter", "typed").types
    assert {known.find(name) for name in generated} == set(generated)


def test_the_published_limit_and_attributes() -> None:
    scheme = load_scheme(None, "controlled")
    assert scheme.words == 50
    strategies = "factual hypocrisy empathy denouncing".split()
    assert list(scheme.kinds()) == [*strategies, "tone-positive", "tone-neutral", "tone-antagonistic"]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("purpose: A.", "source: Field"),
        ("name: a b", "name: "),
        ("words: 0", "words: "),
        ("colour: red", "colour: there is no such entry"),
        ("types: {A b: {label: A, definition: b}}", "'A b' may hold small letters"),
        ("types: {a: {label: A}}", "types.a.definition: is missing"),
        (
            "attributes: {t-a: {label: A, definition: b}}\nchoices: {t: {a: {label: A, definition: b}}}",
            "'t-a' is an attribute and an option of a choice",
        ),
        (
            "attributes: {tone: {label: A, definition: b}}\nchoices: {tone: {a: {label: C, definition: b}}}",
            "'tone' is an attribute and a choice",
        ),
        (
            "choices: {a: {b-c: {label: A, definition: b}}, a-b: {c: {label: C, definition: b}}}",
            "'a-b-c' is an option of two choices",
        ),
        (
            "types: {a: {label: Kind, definition: b}, c: {label: kind!, definition: d}}",
            "the types 'a' and 'c' are both called 'kind'",
        ),
        (
            "attributes: {a: {label: A, definition: b, also: [x]}}\nchoices: {t: {c: {label: X, definition: b}}}",
            "the attributes 'a' and 't-c' are both called 'x'",
        ),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path: Path, change: str, problem: str) -> None:
    entries = {"name": "name: own", "source": "source: letter", "output": "output: answer", "purpose": "purpose: P."}
    entries[change.partition(":")[0]] = change
    if problem == "source: Field":
        del entries["source"]
        problem = "source: is missing"
    path = tmp_path / "own.yaml"
    path.write_text("\n".join(entries.values()), encoding="utf-8")
    with pytest.raises(ConfigError) as told:
        load_scheme(str(path), "zero-shot")
    assert str(told.value).startswith(f"{path}: ") and problem in str(told.value)


def test_a_scheme_must_have_what_the_method_asks_for(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text("name: own\nsource: letter\noutput: answer\npurpose: P.\n", encoding="utf-8")
    assert load_scheme(str(path), "vanilla").name == "own"
    with pytest.raises(ConfigError, match="has no types"):
        load_scheme(str(path), "typed")
    with pytest.raises(ConfigError, match="has no attributes"):
        load_scheme(str(path), "controlled")


def test_names_may_be_signs_alone(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    kinds = "types: {a: {label: +, definition: b}, c: {label: '-', definition: d}}"
    path.write_text(f"name: own\nsource: letter\noutput: answer\npurpose: P.\n{kinds}\n", encoding="utf-8")
    types = load_scheme(str(path), "typed").types
    assert (found_in(types, "+"), found_in(types, "-"), found_in(types, "?")) == ("a", "c", None)
