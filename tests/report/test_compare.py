"""A comparison printed and written: every figure is there, at any width, and no name is read as markup."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.console import Console

from calibrator.comparison.result import ComparisonResult, Extra, JudgeRow
from calibrator.evaluation.humans import ANOTHER, REST
from calibrator.report.compare import comparison_markdown, show_comparison
from calibrator.report.compare_cells import cost, number, roster, seconds, share
from calibrator.report.compare_files import COLUMNS, to_csv, to_json
from calibrator.report.compare_lines import READINGS, human_lines
from calibrator.report.sheet import Column, Sheet, code, escaped, markdown_sheet
from calibrator.texts import visible
from tests.report import made

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
RESULTS: tuple[Callable[[], ComparisonResult], ...] = (made.one_aspect, made.several, made.empty)


def printed(result: ComparisonResult, width: int = 120, looks: Sequence[int | None] = ()) -> str:
    text = io.StringIO()
    show_comparison(Console(file=text, width=width), result, looks)
    return text.getvalue()


def line_of(text: str, name: str) -> str:
    """The first line that is a row of this name."""
    return next(line for line in text.splitlines() if f" {name} " in f"{line} " and not line.startswith("  "))


def inline(tokens: Sequence[Token]) -> list[str]:
    """The text of every inline element as a reader sees it."""
    found = []
    for token in tokens:
        if token.type == "inline":
            kinds = {child.type for child in token.children or ()}
            assert kinds <= {"text", "text_special", "code_inline", "strong_open", "strong_close"}, kinds
            found.append("".join(child.content for child in token.children or ()))
    return found


@pytest.mark.parametrize("make", RESULTS)
def test_tables_in_markdown_have_as_many_cells_in_every_row(make: Callable[[], ComparisonResult]) -> None:
    text = comparison_markdown(make(), [1] * len(make().tables))
    tables: list[list[int]] = []
    lines = text.splitlines()
    for k, line in enumerate(lines):
        if line.startswith("|"):
            if not lines[k - 1].startswith("|"):
                tables.append([])
            tables[-1].append(line.replace("\\|", "").count("|"))
    assert tables and all(len(set(t)) == 1 for t in tables)
    tokens = PARSER.parse(text)
    assert sum(t.type == "table_open" for t in tokens) == len(tables)
    assert visible(" ".join(made.NASTY.split())) in inline(tokens) or make is made.several


@given(st.text() | st.text(alphabet="`*_[]()<>|\\~&#-+=1.a:;! \n$,"))
def test_any_text_is_shown_as_it_is(text: str) -> None:
    seen = " ".join(visible(text).split())
    shown = inline(PARSER.parse(escaped(text)))
    assert " ".join(shown) == seen
    sheet = Sheet("t", (Column("a"), Column("b")), ((text, "x"),))
    cells = inline(PARSER.parse("\n".join(markdown_sheet(sheet))))
    assert cells == ["t", "a", "b", seen, "x"]


@given(st.text(min_size=1).filter(lambda t: bool(visible(t).strip())))
def test_code_is_shown_as_it_is(text: str) -> None:
    seen = " ".join(visible(text).split())
    assert inline(PARSER.parse(f"a {code(text)}")) == [f"a {seen}"]


@pytest.mark.parametrize(
    "text", ["# a", "- a", "1. a", "+ a", "---", "> a", "12) a", "=", "-1 a", "[a]: b", "a_b_", "1.5"]
)
def test_the_start_of_a_line_is_no_markup(text: str) -> None:
    tokens = PARSER.parse(escaped(text))
    assert [t.type for t in tokens] == ["paragraph_open", "inline", "paragraph_close"]
    assert inline(tokens) == [text]


@pytest.mark.parametrize("width", [80, 100, 120, 200])
@pytest.mark.parametrize("make", RESULTS)
def test_tables_fit_the_terminal_and_nothing_is_cut(make: Callable[[], ComparisonResult], width: int) -> None:
    result, text = make(), printed(make(), width)
    tables = [line for line in text.splitlines() if "──" in line]
    assert tables and all(len(line) <= width for line in tables)
    assert "…" not in text.replace("… more columns of the same rows", "")
    assert "\x1b[31m" not in text
    for table in result.tables:
        for row in table.rows:
            value = row.figures["spearman"].value
            assert number(value) in text


def test_wider_terminals_take_fewer_tables() -> None:
    tables = [printed(made.several(), width).count("──\n") for width in (60, 80, 120, 300)]
    assert tables == sorted(tables, reverse=True) and len(set(tables)) > 2


def test_rows_stand_by_family_with_the_humans_last_and_one_number_each() -> None:
    rows = roster(made.several())
    assert list(rows.numbers) == [
        "length",
        "metric:overlap",
        "criteria",
        "zero-shot@vllm/mistralai/Mistral-7B-Instruct-v0.3",
        "recorded:gpt-4/zero-shot",
        "panel:criteria+gpt-4",
    ]
    assert list(rows.numbers.values()) == [1, 2, 3, 4, 5, 6]
    assert rows.families["human"] == (ANOTHER, REST)
    assert rows.listed(["panel:criteria+gpt-4", "length", "criteria", "metric:overlap"]) == "1-3,6"
    assert rows.listed(["criteria", "metric:overlap", "nobody"]) == "2,3"
    assert rows.listed([]) == "–"
    text = printed(made.one_aspect(), 200)
    order = ["Baselines", "length", "Metrics", "Embedded criteria", "Zero-shot", "Recorded", "Panels", "Humans", REST]
    assert [text.index(word) for word in order] == sorted(text.index(word) for word in order)


def test_one_aspect_has_all_figures_of_a_judge_in_its_row() -> None:
    text = printed(made.one_aspect(), 250)
    panel = line_of(text, "panel:criteria+gpt-4").split()
    assert panel[:7] == ["6", "panel:criteria+gpt-4", "*0.710", "[0.660,", "0.760]", "1,3,5", "0.532"]
    assert panel[-5:] == ["0.67", "0.33", "0.81", "0.42", "yes"]
    model = line_of(text, "zero-shot@vllm/mistralai/Mistral-7B-Instruct-v0.3")
    for told in ("98.5 %", "not known", " 61 "):
        assert told in model
    assert "failures 3 × refusal, 1 × no number" in text
    assert "the model answered in another language twice" in text
    assert "91 of 275" in line_of(text, "metric:overlap")
    assert line_of(text, "criteria").split()[5] == "1"


def test_the_best_are_marked_only_where_they_were_tested() -> None:
    text = printed(made.one_aspect(), 200)
    assert "*0.710" in text and "*0.620" not in text  # the panel beats the criteria
    assert "*0.210" not in text  # in no pair of the table
    assert "†0.330" in text
    untested = made.table(pairs=())
    assert "*0." not in printed(ComparisonResult(calibrator="0", tables=(untested,)), 200)


def test_a_judge_of_a_part_stands_beside_the_others_on_that_part() -> None:
    text = printed(made.one_aspect(), 120)
    part = text[text.index("judges of a part, beside") :]
    assert "on the 91 of 275 items of metric:overlap" in part
    assert "0.570 [0.520, 0.620]  -0.240 [-0.290, -0.190]   0.012" in part  # the pair has it the other way round
    whole = tuple(r for r in made.judges() if not r.partial)
    without = ComparisonResult(calibrator="0", tables=(made.table(rows=whole),))
    assert "of a part" not in printed(without) + comparison_markdown(without)


def test_both_readings_of_the_line_of_the_humans() -> None:
    lines = human_lines(made.table())
    assert "one human against another 0.680 [0.630, 0.730] (spearman, 3 annotators)" in lines[0]
    assert lines[1].endswith("no judge reaches it; nearest is panel:criteria+gpt-4 0.640.")
    assert lines[2] == "Against the mean of all annotators it is reached by panel:criteria+gpt-4 0.710."
    assert lines[3] == READINGS
    better = tuple(
        r.model_copy(update={"one": made.around(0.69)}) if r.name in ("criteria", "length") else r
        for r in made.judges()
    )
    reached = human_lines(made.table(rows=better))[1]
    assert reached == "Against one annotator, as that human is held, it is reached by length 0.690, criteria 0.690."


def test_a_judge_of_a_part_is_not_held_beside_the_humans() -> None:
    best = made.row("metric:overlap", "metric", 0.99, partial=True, one=made.around(0.99))
    rows = tuple(best if r.name == best.name else r for r in made.judges())
    assert "metric" not in " ".join(human_lines(made.table(rows=rows)))


def test_no_humans_no_line() -> None:
    rows = tuple(r.model_copy(update={"one": None}) for r in made.judges() if r.family != "human")
    result = ComparisonResult(calibrator="0", tables=(made.table(rows=rows, annotators=1),))
    text = printed(result, 200) + comparison_markdown(result)
    assert human_lines(result.tables[0]) == []
    for absent in ("Humans", "one human", "annotator,", READINGS):
        assert absent not in text


def test_several_aspects_stand_side_by_side_with_their_mean() -> None:
    text = printed(made.several(), 200)
    length = line_of(text, "length").split()
    assert length == [
        "1",
        "length",
        *("0.210", "0.158"),
        *("–", "–"),
        *["0.210", "0.158"] * 2,
        "0.210",
        "(3)",
        "0.158",
        "(3)",
    ]
    assert "(n) behind a mean: it is over only n of the aspects." in text
    assert text.count(READINGS) == 1
    assert "Significantly better than" in text and "May it replace a human?" in text
    took = text[text.index("Items by aspect, and what it took") :]
    model = line_of(took, "zero-shot@vllm/mistralai/Mistral-7B-Instruct-v0.3").split()
    assert model[-5:] == ["1,100", "0", "not", "known", "245"]
    assert line_of(took, "recorded:gpt-4/zero-shot").split()[-2:] == ["0.1248", "–"]


def test_looks_and_signatures_and_cautions_are_told() -> None:
    result = made.several()
    text = printed(result, 120, [1, 2, 3, None])
    assert "seed=0 coherence · look 2 at this test side" in text
    assert "look None" not in text and "seed=0 suitableness" in text
    report = comparison_markdown(result, [1, 2, 3, 4])
    assert "`n=271 groups=88 seed=0 suitableness` · look 4 at this test side" in report
    one = made.one_aspect()
    assert "caution   a caution | of ours" in printed(
        one
    ) and "**Caution**: a caution \\| of ours." in comparison_markdown(one)
    assert "only 7 groups" in printed(ComparisonResult(calibrator="0", tables=(made.table(groups=7),)))
    assert "nothing is compared" in printed(made.empty())
    for function in (lambda: printed(result, 120, [1]), lambda: comparison_markdown(result, [1])):
        with pytest.raises(ValueError, match="1 looks for 4 aspects"):
            function()


def test_a_further_table_is_printed_as_it_is() -> None:
    text = printed(made.one_aspect(), 120)
    assert "Trials | of 13 sizes\nMean over 3 seeds.\n" in text
    assert "criteria" in text and "1,200" in text and "1.0e-05" in text and "One note." in text
    ragged = Extra(name="x", title="Ragged", about="", columns=("a", "b"), rows=((1,),))
    with pytest.raises(ValueError, match="'Ragged': a row of 1 cells under 2 columns"):
        printed(ComparisonResult(calibrator="0", tables=(), extras=(ragged,)))


@pytest.mark.parametrize("make", RESULTS)
def test_csv_has_every_figure_of_every_row(make: Callable[[], ComparisonResult]) -> None:
    result = make()
    read = list(csv.DictReader(io.StringIO(to_csv(result), newline="")))
    rows: list[JudgeRow] = [row for table in result.tables for row in table.rows]
    assert len(read) == len(rows) and tuple(read[0]) == COLUMNS
    for record, row in zip(read, rows, strict=True):
        assert record["judge"] == row.name
        for name, figure in {**row.figures, "one": row.one}.items():
            ends = (None, None, None) if figure is None else (figure.value, figure.low, figure.high)
            read_back = [float(v) if (v := record[f"{name}{e}"]) else None for e in ("", "_low", "_high")]
            assert read_back == list(ends)
        assert json.loads(record["better_than"] or "[]") == list(row.better_than)
        assert json.loads(record["failure_reasons"] or "{}") == row.failures
        assert set(json.loads(record["beside"] or "{}")) == set(row.beside)
        assert record["partial"] == ("true" if row.partial else "false")
        assert (record["cost_usd"] == "") == (row.cost is None)
        passed = row.replacement.passed if row.replacement else None
        assert record["replacement_passed"] == {None: "", True: "true", False: "false"}[passed]


@pytest.mark.parametrize("make", RESULTS)
def test_json_is_the_whole_result(make: Callable[[], ComparisonResult]) -> None:
    text = to_json(make())
    assert ComparisonResult.model_validate_json(text) == make()
    json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))


def test_what_is_not_defined_is_null_in_json() -> None:
    extra = Extra(name="x", title="x", about="", columns=("a",), rows=((float("nan"),),))
    text = to_json(ComparisonResult(calibrator="0", tables=(), extras=(extra,)))
    assert json.loads(text)["extras"][0]["rows"] == [[None]]


def test_figures_are_never_rounded_to_what_they_are_not() -> None:
    assert [share(x) for x in (0, 0.0004, 0.985, 0.9996, 1.0)] == ["0 %", "< 0.1 %", "98.5 %", "> 99.9 %", "100 %"]
    assert [cost(x) for x in (None, 0.0, 0.00001, 0.0312, 1234.5)] == [
        "not known",
        "0",
        "< 0.0001",
        "0.0312",
        "1,234.50",
    ]
    assert [seconds(x) for x in (None, 0.0, 0.01, 3.14, 61.3)] == ["–", "0.0", "< 0.1", "3.1", "61"]
    assert [number(x) for x in (None, float("nan"), 0.0, 0.0001, -0.5)] == ["–", "–", "0.000", "1.0e-04", "-0.500"]
