"""Which column is what: guesses for the layouts that users have, and what a user says wins."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from calibrator.aspects import Aspect, Scale, find_aspect
from calibrator.columns import Mapped, Wanted, find, map_columns, recorded_column, recorded_names
from calibrator.errors import DataError
from calibrator.tables import Table, flatten, read_table

CSEVAL = (
    "uuid hatespeech counterspeech predicted_counterspeech csType source relevance_score aggressiveness_score "
    "coherence_score suitableness_score gpt-4/zero-shot/relevance"
).split()


def table(*columns: str, **cells: Any) -> Table:
    """Return a table with one row; cells that are not given are "x"."""
    row = dict.fromkeys(columns, "x") | cells
    return Table(Path("data.csv"), tuple(row), (row,), (row,), (2,))


def nested(record: dict[str, Any]) -> Table:
    flat = flatten(record)
    return Table(Path("data.jsonl"), tuple(flat), (flat,), (record,), (1,))


def quality(name: str, **fields: str) -> Aspect:
    return Aspect("custom", name, name, "A quality.", Scale(1, 5), fields=fields)


def guessed(found: Table, aspect: str = "relevance", **said: Any) -> Mapped:
    return map_columns(found, Wanted(**said), quality(aspect))


# -- layouts -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["relevance", "aggressiveness", "coherence", "suitableness"])
def test_the_layout_of_cseval(name: str) -> None:
    aspect, _ = find_aspect(f"cseval/{name}")
    mapped = map_columns(table(*CSEVAL), Wanted(), aspect)
    assert mapped == Mapped(
        output="predicted_counterspeech",
        source="hatespeech",
        reference="counterspeech",
        system="source",
        identifier="uuid",
        score=f"{name}_score",
        guessed=("score", "output", "source", "reference", "system", "identifier"),
    )


def test_the_plain_layout() -> None:
    mapped = guessed(table("input", "output", "human_score"), "helpfulness")
    assert (mapped.source, mapped.output, mapped.score) == ("input", "output", "human_score")
    assert mapped.reference is mapped.group is mapped.system is mapped.identifier is None
    assert mapped.described() == "source=input (guessed); output=output (guessed); score=human_score (guessed)"


@pytest.mark.parametrize(("output", "extra"), [("response", {"fact": "a fact"}), ("summary", {})])
def test_the_nested_layout(output: str, extra: dict[str, str]) -> None:
    record = {
        "id": "d-1-A",
        "group": "d-1",
        "system": "A",
        "inputs": {"dialogue": "well", **extra, output: "fine"},
        "human": {"relevance": 4.0, "fluency": 2.0},
        "annotators": {"relevance": [4, 3, 5], "fluency": [2, 2, 2]},
    }
    mapped = guessed(nested(record))
    assert (mapped.source, mapped.output) == ("inputs.dialogue", f"inputs.{output}")
    assert (mapped.group, mapped.system, mapped.identifier) == ("group", "system", "id")
    assert (mapped.score, mapped.annotators) == ("human.relevance", ("annotators.relevance",))
    assert mapped.inputs == {name: f"inputs.{name}" for name in extra}


def test_inputs_of_unusual_names_are_taken_by_their_place() -> None:
    mapped = guessed(nested({"inputs": {"letter": "a", "mood": "b", "reply_letter": "c"}, "human": {"relevance": 3}}))
    assert (mapped.source, mapped.output) == ("inputs.letter", "inputs.reply_letter")
    assert mapped.inputs == {"mood": "inputs.mood"}


# -- ratings -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "column",
    "relevance_score human.relevance human_relevance relevance Relevance relevance_rating relevance_mean "
    "score_relevance human_score rating score human".split(),
)
def test_usual_names_of_a_rating(column: str) -> None:
    mapped = guessed(table("source", "output", column))
    assert (mapped.score, mapped.annotators) == (column, ())


def test_the_rating_of_the_aspect_goes_before_an_overall_one() -> None:
    assert guessed(table("output", "human_score", "relevance_score")).score == "relevance_score"


def test_the_rating_of_another_aspect_is_not_taken() -> None:
    with pytest.raises(DataError, match=r"rating of 'relevance'.*--score; nearest: coherence_score"):
        guessed(table("output", "coherence_score"))


@pytest.mark.parametrize(
    "pattern",
    [
        "relevance_score_a{}",
        "relevance_a{}",
        "relevance_{}",
        "relevance.annotator_{}",
        "relevance_rater{}",
        "Relevance (A{})",
        "human_relevance_{}",
        "annotator{}_relevance",
        "rater_{}.relevance_score",
        "expert-{}-relevance",
    ],
)
def test_spellings_of_annotators_columns(pattern: str) -> None:
    columns = tuple(pattern.format(k) for k in (1, 2, 3))
    mapped = guessed(table("output", *columns, pattern.format(1).replace("elevance", "everence")))
    assert (mapped.score, mapped.annotators) == (None, columns)


def test_a_mean_beside_the_annotators_is_taken_with_them() -> None:
    mapped = guessed(table("output", "relevance_score_a1", "relevance_score_a2", "relevance_score"))
    assert (mapped.score, mapped.annotators) == ("relevance_score", ("relevance_score_a1", "relevance_score_a2"))


@pytest.mark.parametrize("cell", [[3, 4], "[3, 4]"], ids=["list", "text"])
def test_a_column_of_lists_holds_annotators(cell: object) -> None:
    mapped = guessed(table("output", human_score=cell))
    assert (mapped.score, mapped.annotators) == (None, ("human_score",))


@pytest.mark.parametrize("cell", [[3, 4], "[3, 4]"], ids=["list", "text"])
def test_a_named_column_of_lists_holds_annotators(cell: object) -> None:
    mapped = guessed(table("output", votes=cell), score=("votes",))
    assert (mapped.score, mapped.annotators) == (None, ("votes",))


def test_several_named_columns_are_annotators() -> None:
    mapped = guessed(table("output", "anna", "ben", "relevance_score"), score=("anna", "ben"))
    assert (mapped.score, mapped.annotators) == (None, ("anna", "ben"))


@pytest.mark.parametrize(
    "column", ["emotional-appeal", "emotional_appeal_score", "Emotional appeal", "human.emotional-appeal"]
)
def test_an_aspect_with_a_hyphen(column: str) -> None:
    assert guessed(table("output", column), "emotional-appeal").score == column


def test_annotators_of_an_aspect_with_a_hyphen() -> None:
    columns = ("emotional_appeal_a1", "emotional-appeal_a2")
    assert guessed(table("output", *columns), "emotional-appeal").annotators == columns


def test_no_rating_is_looked_for_without_an_aspect() -> None:
    mapped = map_columns(table("input", "output"), Wanted(), None)
    assert (mapped.score, mapped.annotators) == (None, ())


# -- what the user says ------------------------------------------------------------------------------------------------


def test_what_is_said_goes_before_a_guess() -> None:
    mapped = guessed(table("input", "output", "better", "human_score"), output="better", source="output")
    assert (mapped.output, mapped.source) == ("better", "output")
    assert set(mapped.guessed) == {"score"}


def test_a_column_that_was_said_is_not_guessed_for_another_role() -> None:
    mapped = guessed(table("text", "summary", "source", "human_score"), output="text", system="source")
    assert (mapped.output, mapped.source, mapped.system) == ("text", None, "source")


def test_a_column_that_was_said_as_group_is_not_guessed_as_the_rating() -> None:
    assert guessed(table("output", "rating", "score"), group="rating").score == "score"


def test_no_column_is_guessed_twice() -> None:
    mapped = guessed(table("source", "output", "reference", "model", "id", "group", "human_score"))
    roles = ("output", "source", "reference", "group", "system", "identifier", "score")
    taken = [getattr(mapped, role) for role in roles]
    assert taken == ["output", "source", "reference", "group", "model", "id", "human_score"]


@pytest.mark.parametrize("role", ["source", "reference", "group", "system", "identifier"])
def test_none_switches_a_guess_off(role: str) -> None:
    found = table("source", "output", "reference", "model", "id", "group", "human_score")
    assert getattr(guessed(found), role) is not None
    assert getattr(guessed(found, **{role: "none"}), role) is None


def test_none_switches_the_guess_by_place_off() -> None:
    found = nested({"inputs": {"letter": "a", "reply": "c"}, "human": {"relevance": 3}})
    assert guessed(found, source="none").source is None


def test_names_do_without_inputs_and_in_another_case() -> None:
    found = nested({"inputs": {"letter": "a", "Long Answer": "c"}, "human": {"relevance": 3}})
    mapped = guessed(found, output="long_answer", source="letter")
    assert (mapped.output, mapped.source) == ("inputs.Long Answer", "inputs.letter")


def test_a_further_input_is_named_by_the_user() -> None:
    mapped = guessed(table("input", "output", "facts", "human_score"), inputs={"fact": "facts"})
    assert mapped.inputs == {"fact": "facts"}
    assert mapped.described().endswith("input fact=facts")


def test_the_aspects_own_names_are_guessed_too() -> None:
    aspect = quality("warmth", output="Voicemail", source="caller note")
    mapped = map_columns(table("caller_note", "voicemail", "score"), Wanted(), aspect)
    assert (mapped.source, mapped.output) == ("caller_note", "voicemail")


# -- names that are not there, odd names -------------------------------------------------------------------------------


def test_a_name_that_is_not_there_tells_the_nearest() -> None:
    with pytest.raises(DataError, match=r"data\.csv, column 'outptu': there is no such column; nearest: output"):
        find(table("input", "output"), "outptu")


def test_a_name_like_no_other_tells_them_all() -> None:
    with pytest.raises(DataError, match=r"columns: alpha, beta"):
        find(table("alpha", "beta"), "zzz")


def test_no_text_to_judge_tells_the_columns() -> None:
    with pytest.raises(DataError, match=r"--output \(columns: human_score, remark\)"):
        guessed(table("human_score", "remark"))


def test_a_name_in_another_script_is_not_taken_for_another() -> None:
    found = table("回答", "評価", "点数")
    mapped = guessed(found, output="回答", score=("評価",))
    assert (mapped.output, mapped.score) == ("回答", "評価")
    with pytest.raises(DataError, match="no such column"):
        find(found, "結果")
    with pytest.raises(DataError, match="no such column"):
        find(table("output", "評価"), "点数")


def test_a_name_in_another_script_is_found_in_another_case_and_spacing() -> None:
    assert find(table("output", "Оценка качества"), "оценка_качества") == "Оценка качества"


def test_a_name_without_a_letter_is_not_taken_for_another() -> None:
    with pytest.raises(DataError, match="no such column"):
        find(table("output", "***"), "???")


@pytest.mark.parametrize("odd", ["", "備考", "***"])
def test_a_column_of_an_odd_name_is_nobodys_guess(odd: str) -> None:
    mapped = guessed(table("input", "output", "human_score", odd))
    assert set(mapped.guessed) == {"score", "output", "source"}


@pytest.mark.parametrize(
    ("columns", "aspect", "described"),
    [
        (
            "doc_id system_id source reference system_output scores.coherence scores.fluency",
            "neutral/coherence",
            "source=source output=system_output reference=reference group=doc_id system=system_id "
            "score=scores.coherence",
        ),
        (
            "Prompt Human Story Model Relevance",
            "neutral/relevance",
            "source=Prompt output=Story system=Model score=Relevance",
        ),
        (
            "question answer model helpfulness",
            "helpfulness",
            "source=question output=answer system=model score=helpfulness",
        ),
        ("text score", "neutral/fluency", "output=text score=score"),
        (
            "prompt response source score",
            "neutral/fluency",
            "source=prompt output=response system=source score=score",
        ),
        (
            "question_id user_prompt answer score",
            "helpfulness",
            "source=user_prompt output=answer group=question_id score=score",
        ),
        (
            "input decoded coherence_score human_coherence",
            "neutral/coherence",
            "source=input output=decoded score=human_coherence",
        ),
        ("article summary avg_fluency", "neutral/fluency", "source=article output=summary score=avg_fluency"),
    ],
)
def test_layouts_of_well_known_sets_are_guessed(columns: str, aspect: str, described: str) -> None:
    names = columns.split()
    row = dict.fromkeys(names, "1")
    table = Table(Path("x.csv"), tuple(names), (row,), (row,), (2,))
    mapped = map_columns(table, Wanted(), find_aspect(aspect)[0])
    assert mapped.described().replace(" (guessed)", "").replace(";", "") == described


def test_annotations_in_a_list_of_objects_are_the_annotators() -> None:
    record = {
        "text": "a",
        "decoded": "b",
        "expert_annotations": [{"fluency": 4, "coherence": 2}, {"fluency": 5, "coherence": 1}],
    }
    row = flatten(record)
    assert row["expert_annotations.fluency"] == [4, 5]
    table = Table(Path("x.jsonl"), tuple(row), (row,), (record,), (1,))
    assert map_columns(table, Wanted(), find_aspect("neutral/fluency")[0]).annotators == ("expert_annotations.fluency",)


# -- recorded judges ---------------------------------------------------------------------------------------------------

FLAT = (
    *("hatespeech", "predicted_counterspeech", "relevance_score", "coherence_score"),
    *("gpt-4/zero-shot/relevance", "gpt-4/zero-shot/coherence", "llama-3/auto/relevance", "metric/bleu (1, 2)"),
)
NESTED = {
    "inputs": {"dialogue": "a", "response": "b"},
    "human": {"relevance": 3, "coherence": 2},
    "recorded": {"gpt-3.5": {"relevance": 4, "coherence": 1}, "A judge": {"relevance": 2}},
}


@pytest.mark.parametrize(
    ("found", "name", "aspect", "column"),
    [
        (table(*FLAT), "gpt-4/zero-shot", "relevance", "gpt-4/zero-shot/relevance"),
        (table(*FLAT), "gpt-4/zero-shot", "coherence", "gpt-4/zero-shot/coherence"),
        (table(*FLAT), "gpt-4/zero-shot/coherence", "relevance", "gpt-4/zero-shot/coherence"),  # named in full
        (table(*FLAT), "metric/bleu (1, 2)", "relevance", "metric/bleu (1, 2)"),
        (nested(NESTED), "gpt-3.5", "relevance", "recorded.gpt-3.5.relevance"),
        (nested(NESTED), "gpt-3.5", "coherence", "recorded.gpt-3.5.coherence"),
        (nested(NESTED), "A judge", "relevance", "recorded.A judge.relevance"),
        (table("output", "human", "P_relevance"), "P", "relevance", "P_relevance"),
        (table("output", "human", "P.relevance"), "P", "relevance", "P.relevance"),
        (table("output", "human", "P"), "P", "relevance", "P"),
        (table("output", "human", "P", "P/relevance"), "P", "relevance", "P/relevance"),  # not the overall one
        (table("output", "human", "P/turn_taking"), "P", "turn-taking", "P/turn_taking"),
    ],
)
def test_the_column_of_a_recorded_judge(found: Table, name: str, aspect: str, column: str) -> None:
    assert recorded_column(found, name, aspect) == column
    mapped = guessed(found, aspect, recorded=(name,))
    assert mapped.recorded == {name: column}
    assert map_columns(found, Wanted(recorded=(name,)), None, judged=aspect).recorded == {name: column}


def test_no_recorded_judge_is_read_unless_it_is_asked_for() -> None:
    assert guessed(table(*FLAT)).recorded == {}


def test_recorded_judges_change_nothing_else() -> None:
    said = Wanted(recorded=("gpt-4/zero-shot", "metric/bleu (1, 2)"))
    with_them = map_columns(table(*FLAT), said, quality("relevance"))
    assert replace(with_them, recorded={}) == map_columns(table(*FLAT), Wanted(), quality("relevance"))


@pytest.mark.parametrize(
    ("found", "name", "nearest"),
    [
        (table(*FLAT), "gpt4/zero-shot", "gpt-4/zero-shot"),
        (table(*FLAT), "lama-3/auto", "llama-3/auto"),
        (table(*FLAT), "metric/bleu", "metric/bleu (1, 2)"),
        (nested(NESTED), "gpt-35", "gpt-3.5"),
        (nested(NESTED), "xyz", "gpt-3.5, A judge"),  # nothing is near: those there are
    ],
)
def test_a_recorded_judge_that_is_not_there_is_refused_with_the_nearest(found: Table, name: str, nearest: str) -> None:
    with pytest.raises(DataError) as caught:
        guessed(found, recorded=(name,))
    said = str(caught.value)
    assert f"no column holds the scores of a judge '{name}' for relevance; nearest: {nearest}" in said
    assert "\n" not in said
    assert caught.value.file == found.path


def test_a_table_without_recorded_judges_names_none() -> None:
    with pytest.raises(DataError) as caught:
        recorded_column(table("output", "human"), "P", "relevance")
    assert "nearest" not in str(caught.value)
    assert recorded_names(table("output", "human"), "relevance") == []


@pytest.mark.parametrize(
    ("found", "aspect", "names"),
    [
        (table(*FLAT), "relevance", ["gpt-4/zero-shot", "llama-3/auto", "metric/bleu (1, 2)"]),
        (table(*FLAT), "coherence", ["gpt-4/zero-shot", "metric/bleu (1, 2)"]),
        (nested(NESTED), "relevance", ["gpt-3.5", "A judge"]),
        (nested(NESTED), "coherence", ["gpt-3.5"]),
        (nested(NESTED), "fluency", []),
        (table("P/turn_taking", "Q/turn-taking", "turn_taking"), "turn-taking", ["P", "Q"]),
    ],
)
def test_all_recorded_judges_of_an_aspect(found: Table, aspect: str, names: list[str]) -> None:
    assert recorded_names(found, aspect) == names
    assert all(recorded_column(found, n, aspect) in found.columns for n in names)


def test_the_columns_of_the_recorded_judges_are_those_of_the_files(real_data: Path) -> None:
    cseval = read_table(real_data / "cseval" / "recorded_judges.csv")
    names = recorded_names(cseval, "relevance")
    assert {"gpt-4/zero-shot", "gpt-4/auto-cseval"} <= set(names)
    assert any(n.startswith("metric/") for n in names)
    topical = read_table(real_data / "other" / "topical_chat.jsonl")
    assert recorded_names(topical, "overall") == ["claude-3-haiku/overall1-5", "gpt-4o-mini/keyroog-overall1-3"]
    assert "gpt-3.5-turbo/geval" in recorded_names(topical, "coherence")
    named = recorded_column(topical, "gpt-3.5-turbo/geval", "coherence")
    assert named == "recorded.gpt-3.5-turbo/geval.coherence"
