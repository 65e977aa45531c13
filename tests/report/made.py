"""Comparisons made by hand, for what prints and writes them."""

from __future__ import annotations

from calibrator.aspects import AspectFile, ScaleFile
from calibrator.comparison.result import (
    AspectTable,
    ComparisonResult,
    Extra,
    JudgeRow,
    MeanRow,
    PairLine,
    ReplacementPart,
)
from calibrator.evaluation.humans import ANOTHER, REST
from calibrator.judges.frozen_parts import Figure

NASTY = "re|corded:[x](http://e.example)`<b>_a_*\n\x1b[31m"


def around(value: float, half: float = 0.05) -> Figure:
    return Figure(value=value, low=round(value - half, 4), high=round(value + half, 4))


def figures(rho: float, mae: float | None = 0.6) -> dict[str, Figure]:
    found = {"spearman": around(rho), "kendall": around(rho * 0.75), "pearson": around(rho * 0.98)}
    return {**found, "mae": Figure(value=None) if mae is None else around(mae)}


def row(name: str, family: str, rho: float, **more: object) -> JudgeRow:
    given = {"mode": "as given", "figures": figures(rho), "items": 271, "coverage": 1.0, "judgments": 275, **more}
    return JudgeRow.model_validate({"name": name, "family": family, **given})


def nothing(name: str, family: str) -> JudgeRow:
    """A judge of which nothing is defined or known."""
    unknown = {m: Figure(value=None) for m in ("spearman", "kendall", "pearson", "mae")}
    return JudgeRow(
        name=name,
        family=family,
        mode="number",
        figures=unknown,
        items=0,
        coverage=0.0,
        one=Figure(value=None),
        replacement=ReplacementPart(omega=None, advantage=None, z=None, passed=None),
        cost=None,
    )


def pair(first: str, second: str, gain: float, p: float | None, items: int = 271) -> PairLine:
    return PairLine(first=first, second=second, items=items, gain=around(gain), p=p, adjusted=p)


def judges() -> tuple[JudgeRow, ...]:
    """Rows out of the order of their families, one of a part, and the humans first."""
    replaces = ReplacementPart(omega=0.67, omega_given=0.33, advantage=0.81, z=0.42, passed=True)
    fails = ReplacementPart(omega=0.0, omega_given=0.0, advantage=0.55, z=-1.9, passed=False)
    panel, criteria, four = "panel:criteria+gpt-4", "criteria", "recorded:gpt-4/zero-shot"
    return (
        row(ANOTHER, "human", 0.68, one=around(0.68), judgments=0),
        row(REST, "human", 0.73, judgments=0),
        row(panel, "panel", 0.71, one=around(0.64), replacement=replaces, better_than=("length", criteria, four)),
        row("length", "baseline", 0.21, one=around(0.2), replacement=fails),
        row(criteria, "criteria", 0.62, one=around(0.57), replacement=fails, better_than=("length",), known=642),
        row(
            "zero-shot@vllm/mistralai/Mistral-7B-Instruct-v0.3",
            "zero-shot",
            0.47,
            mode="expected",
            model="vllm/mistralai/Mistral-7B-Instruct-v0.3",
            coverage=271 / 275,
            failures={"refusal": 3, "no number": 1},
            one=around(0.45),
            cost=None,
            seconds=61.3,
            better_than=("length",),
            notes=("the model answered in another language twice",),
        ),
        row(four, "recorded", 0.58, one=around(0.55), cost=0.0312, better_than=("length",), mode="number"),
        row(
            "metric:overlap",
            "metric",
            0.33,
            items=91,
            coverage=91 / 275,
            partial=True,
            beside={panel: around(0.70), four: around(0.57)},
        ),
    )


def table(name: str = "relevance", rows: tuple[JudgeRow, ...] | None = None, **more: object) -> AspectTable:
    aspect = AspectFile(
        suite="neutral", name=name, definition="How well it | keeps to the point.", scale=ScaleFile(min=1, max=5)
    )
    tested = (
        pair("panel:criteria+gpt-4", "criteria", 0.09, 0.0004),
        pair("panel:criteria+gpt-4", "recorded:gpt-4/zero-shot", 0.13, 0.0004),
        pair("recorded:gpt-4/zero-shot", "metric:overlap", 0.24, 0.012, 91),
    )
    given: dict[str, object] = {
        "aspect": aspect,
        "chosen": "given",
        "data": "made",
        "size": 275,
        "items": 271,
        "groups": 88,
        "annotators": 3,
        "measure": "spearman",
        "rows": judges() if rows is None else rows,
        "pairs": tested if rows is None else (),
        "signature": f"n=271 groups=88 seed=0 {name}",
        **more,
    }
    return AspectTable.model_validate(given)


def extra() -> Extra:
    return Extra(
        name="trials",
        title="Trials | of 13 sizes",
        about="Mean over 3 seeds.",
        columns=("judge", "n", "mean", "dev"),
        rows=(("criteria", 1200, 0.6123, 1), (NASTY, 8, None, None), ("length", 20, 0.00001, 0.5)),
        notes=("One note.",),
    )


def one_aspect() -> ComparisonResult:
    return ComparisonResult(calibrator="0.1.0", tables=(table(cautions=("a caution | of ours",)),), extras=(extra(),))


def several() -> ComparisonResult:
    names = ("relevance", "coherence", "aggressiveness", "suitableness")
    less = tuple(r for r in judges() if r.name != "length")
    tables = tuple(table(n, less if n == "coherence" else None) for n in names)
    means = tuple(
        MeanRow(
            name=r.name,
            family=r.family,
            figures={"spearman": r.figures["spearman"].value, "kendall": r.figures["kendall"].value},
            aspects=3 if r.name == "length" else 4,
        )
        for r in judges()
    )
    return ComparisonResult(calibrator="0.1.0", tables=tables, means=means)


def empty() -> ComparisonResult:
    """Everything None: no humans, no pairs, no figures."""
    rows = (nothing("constant", "baseline"), nothing(NASTY, "recorded"), nothing("odd", "unheard of"))
    return ComparisonResult(calibrator="0.1.0", tables=(table(rows=rows, items=0, groups=0, annotators=0),))
