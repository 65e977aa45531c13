"""The panel: worked by hand, its members' failures, and what its file gives back."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from calibrator.aspects import AspectFile, Scale, find_aspect
from calibrator.criteria import Measured
from calibrator.drafting.baselines import length_only
from calibrator.errors import InputError, RubricError
from calibrator.judges.base import Judge
from calibrator.judges.build import frozen_judge, load_judge
from calibrator.judges.criteria import CriteriaJudge
from calibrator.judges.frozen import FrozenJudge, judge_file, read_frozen, step_files
from calibrator.judges.frozen_parts import JudgeFile, MemberFile, PanelFile
from calibrator.judges.llm import LLMJudge
from calibrator.judges.panel import BOUNDLESS, Member, PanelJudge, rank_among
from calibrator.judges.recorded import RecordedJudge
from calibrator.models.client import Client, Portal
from calibrator.models.scripted import ScriptedModel
from calibrator.prompts import score_prompt
from calibrator.records import Failure, Item, Judgment, Rubric
from calibrator.resources import folder
from tests.conftest import make_items

SHIPPED = folder("rubrics") / "frozen" / "cseval" / "relevance.yaml"
ASPECT = find_aspect("cseval/relevance")[0]
SCALE = Scale(1, 5)
ROLES = ("source", "output")

Scores = Sequence[float | None]


def given_to(**scores: Scores) -> list[Item]:
    """Return items with what judges gave them."""
    count = len(next(iter(scores.values())))
    return [replace(i, recorded={n: s[k] for n, s in scores.items()}) for k, i in enumerate(make_items(count))]


def seat(
    name: str, weight: float, center: float = 3.0, spread: float = 1.0, knots: tuple[float, ...] = ()
) -> tuple[Member, Judge]:
    return Member(name, weight, center, spread, knots), RecordedJudge(name, SCALE)


def panel(*seats: tuple[Member, Judge], base: float = 3.0, measured: Judge | None = None) -> PanelJudge:
    return PanelJudge("panel", seats, SCALE, base, measured)


def scores(judge: Judge, items: Sequence[Item]) -> list[float | str]:
    return [v.score if isinstance(v, Judgment) else v.reason for v in judge.judge(items)]


# -- the score ---------------------------------------------------------------------------------------------------------


def test_a_fit_by_hand() -> None:
    """3 + 0.5 · (P - 3) / 2 - 0.25 · (Q - 4) / 0.5, each standardised score within ±3."""
    judge = panel(seat("P", 0.5, 3, 2), seat("Q", -0.25, 4, 0.5))
    items = given_to(P=[3, 5, 1, 3], Q=[4, 4, 5, 1])
    assert scores(judge, items) == [3.0, 3.5, 3.0 - 0.5 - 0.5, 3.0 + 0.75]
    assert [v.mode for v in judge.judge(items) if isinstance(v, Judgment)] == ["panel"] * 4
    assert (judge.id, judge.mode, [m.name for m in judge.members]) == ("panel", "panel", ["P", "Q"])


def test_a_mean_of_ranks_by_hand() -> None:
    """Of four knots 3 lies above one and with two: rank (1 + 3) / 2 / 4 - 1/2 = 0."""
    judge = panel(seat("P", 2.0, knots=(2, 3, 3, 4)), base=2.5)
    assert scores(judge, given_to(P=[3, 2, 4, 1, 5, 3.5])) == [2.5, 1.75, 3.25, 1.5, 3.5, 3.0]


def test_a_score_is_limited_to_the_scale() -> None:
    judge = panel(seat("P", 3.0))
    assert scores(judge, given_to(P=[5, 1, 3.5])) == [5.0, 1.0, 4.5]


def steep_rubric() -> Rubric:
    """Return a rubric whose scores go far off the scale."""
    rubric = length_only(ASPECT, make_items(60), Measured())
    steps = (replace(s, measures=tuple(replace(m, weight=4.0) for m in s.measures)) for s in rubric.steps)
    return replace(rubric, steps=tuple(steps))


def test_what_measures_the_text_is_added_without_a_limit_of_its_own() -> None:
    items = given_to(P=[1, 5, 3] * 5)
    steep = steep_rubric()
    measured = CriteriaJudge(steep, BOUNDLESS)
    texts = [v.score for v in measured.judge(items) if isinstance(v, Judgment)]
    assert min(texts) < 1 and max(texts) > 5
    judge = panel(seat("P", -2.0), base=steep.base, measured=measured)
    expected = [min(5.0, max(1.0, t - 2.0 * p)) for t, p in zip(texts, [-2, 2, 0] * 5, strict=True)]
    assert scores(judge, items) == pytest.approx(expected)
    assert judge.measure(items) == measured.judge(items)
    assert panel(seat("P", 1.0)).measure(items) is None


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=30),
    st.lists(st.one_of(st.integers(-2, 11), st.just(math.nan)), min_size=1, max_size=10),
)
def test_a_rank_is_the_share_below_with_ties_half(knots: list[int], given_scores: list[float]) -> None:
    found = rank_among(np.array(given_scores, dtype=float), np.array(sorted(knots), dtype=float))
    for score, rank in zip(given_scores, found.tolist(), strict=True):
        if math.isnan(score):
            assert math.isnan(rank)
        else:
            by_hand = sum(1.0 if k < score else 0.5 if k == score else 0.0 for k in knots) / len(knots) - 0.5
            assert rank == pytest.approx(by_hand, abs=1e-12)
            assert -0.5 <= rank <= 0.5


def test_a_panel_of_nobody_is_refused() -> None:
    with pytest.raises(ValueError, match="needs a member"):
        panel()


# -- members without a score -------------------------------------------------------------------------------------------


def test_a_member_without_a_score_counts_as_its_average() -> None:
    judge = panel(seat("P", 1.0), seat("Q", 1.0))
    assert scores(judge, given_to(P=[4, 4, None], Q=[None, 3, 2])) == [4.0, 4.0, 2.0]


def test_without_more_than_half_of_the_weight_there_is_no_score_but_the_reason() -> None:
    judge = panel(seat("P", 1.5), seat("Q", -0.5), seat("R", 0.5))
    items = given_to(P=[None, 4, 4, -1], Q=[3, None, None, None], R=[3, 3, None, None])
    assert scores(judge, items) == [
        "members without a score: no recorded score",  # 1.5 of 2.5
        4.5,
        4.5,  # 1.0 of 2.5: the weights of those that fail are added as they are, whichever way they count
        "members without a score: no recorded score",  # two of three reasons
    ]


def test_half_of_the_weight_is_enough() -> None:
    judge = panel(seat("P", 1.0), seat("Q", -1.0))
    assert scores(judge, given_to(P=[None, 4, None], Q=[2, None, None])) == [
        4.0,
        4.0,
        "members without a score: no recorded score",
    ]


def test_a_failing_member_that_counts_for_nothing_does_no_harm() -> None:
    judge = panel(seat("P", 0.0), seat("Q", 1.0))
    assert scores(judge, given_to(P=[None, None], Q=[4, None])) == [4.0, "members without a score: no recorded score"]


def test_with_criteria_a_panel_still_needs_half_of_its_judges() -> None:
    rubric = length_only(ASPECT, make_items(60), Measured())
    judge = panel(seat("P", 1.0), seat("Q", 0.4), base=rubric.base, measured=CriteriaJudge(rubric, BOUNDLESS))
    found = judge.judge(given_to(P=[None, 4], Q=[3, None]))
    assert [type(v) for v in found] == [Failure, Judgment]
    idle = panel(seat("P", 0.0), base=rubric.base, measured=CriteriaJudge(rubric, BOUNDLESS))
    assert isinstance(idle.judge(given_to(P=[None]))[0], Judgment)


# -- the file ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def portal() -> Iterator[Portal]:
    opened = Portal()
    yield opened
    opened.close()


def member_file(member: Member, judge: JudgeFile, **more: object) -> MemberFile:
    return MemberFile.model_validate({**asdict(member), "judge": judge.model_dump(), **more})


def recorded_file(name: str) -> JudgeFile:
    return JudgeFile(method="recorded", id=f"recorded:{name}", score_mode="recorded")


def frozen_with(members: Sequence[MemberFile], measured: Rubric, join: str = "fit") -> FrozenJudge:
    """Return a panel frozen, with the figures of a shipped judge: they do not matter here."""
    parts = {
        "aspect": AspectFile.of(ASPECT),
        "judge": JudgeFile(method="panel", id="panel:P+Q", score_mode="panel"),
        "base": measured.base,
        "steps": step_files(measured),
        "panel": PanelFile(join=join, members=tuple(members)),
    }
    return read_frozen(SHIPPED).model_copy(update=parts).hashed()


ODD = (0.1 + 0.2, 1 / 3, 2.675, 1e-7)  # numbers that are easily rounded on the way


def test_a_panel_comes_back_from_its_file_with_the_very_same_numbers(tmp_path: Path) -> None:
    measured = steep_rubric()
    members = [Member("recorded:P", 7 * ODD[0], ODD[1], ODD[2]), Member("recorded:Q", ODD[3], ODD[2], ODD[1])]
    frozen = frozen_with([member_file(m, recorded_file(m.name[9:])) for m in members], measured)
    frozen.save(tmp_path / "panel.yaml")
    assert read_frozen(tmp_path / "panel.yaml") == frozen
    loaded = load_judge(tmp_path / "panel.yaml")
    items = given_to(P=[1, 2.5, 5, None] * 6, Q=[0.5, 3, 4, 2] * 6)
    made = PanelJudge(
        "panel:P+Q",
        [(m, RecordedJudge(m.name[9:], SCALE)) for m in members],
        SCALE,
        measured.base,
        CriteriaJudge(measured, BOUNDLESS),
    )
    assert loaded.judge(items) == made.judge(items)
    assert frozen.recorded == ("P", "Q")
    assert frozen.asked == ()


def test_a_panel_by_ranks_comes_back_with_its_knots(tmp_path: Path) -> None:
    knots = (1.0, 5 / 3, 7 / 3, 7 / 3, 13 / 3)
    members = [Member(f"recorded:{n}", ODD[0], knots=knots) for n in "PQ"]
    files = [member_file(m, recorded_file(m.name[9:])) for m in members]
    frozen = frozen_with(files, Rubric(ASPECT.ref, (), 3.1), "ranks")
    frozen.save(tmp_path / "panel.yaml")
    items = given_to(P=[1, 5 / 3, 7 / 3, None], Q=[5 / 3, 3, 13 / 3, 2])
    made = PanelJudge("panel:P+Q", [(m, RecordedJudge(m.name[9:], SCALE)) for m in members], SCALE, 3.1)
    assert load_judge(tmp_path / "panel.yaml").judge(items) == made.judge(items)


def test_a_member_off_the_scale_keeps_a_scale_of_its_own(tmp_path: Path) -> None:
    metric = member_file(Member("m", 1.0, 50.0, 10.0), recorded_file("metric/bleu (a, b)"), on_scale=False)
    judged = member_file(Member("p", 1.0, 3.0, 1.0), recorded_file("P"))
    frozen_with([metric, judged], Rubric(ASPECT.ref, (), 3.0)).save(tmp_path / "panel.yaml")
    items = [
        replace(i, recorded={"metric/bleu (a, b)": 60.0, "P": p}) for i, p in zip(make_items(2), (3, 60), strict=True)
    ]
    found = load_judge(tmp_path / "panel.yaml").judge(items)
    assert found == (Judgment("i0", 4.0, "panel"), Judgment("i1", 4.0, "panel"))  # P's 60 is none: half is left


def test_members_of_all_kinds_score_by_their_own_steps(tmp_path: Path, portal: Portal) -> None:
    """An LLM judge asks its own message, a criteria judge goes by its own rubric."""
    model = ScriptedModel(lambda r: '{"score": 4}', "openai/some-model")
    asking = LLMJudge(Client(model, portal, 1), score_prompt(ASPECT, ("Look at the words.",), ROLES), ASPECT)
    rubric = length_only(ASPECT, make_items(60), Measured())
    own = CriteriaJudge(rubric, ASPECT.scale)
    members = [Member("zero-shot", 0.8, 3.0, 1.0), Member("length", 0.6, 3.0, 1.0)]
    files = [
        member_file(members[0], judge_file("llm", asking, ROLES), cost=0.002),
        member_file(
            members[1],
            judge_file("criteria", own, ROLES),
            base=rubric.base,
            steps=[s.model_dump() for s in step_files(rubric)],
        ),
    ]
    frozen = frozen_with(files, Rubric(ASPECT.ref, (), 3.0))
    frozen.save(tmp_path / "panel.yaml")
    back = read_frozen(tmp_path / "panel.yaml")
    assert [a.model for a in back.asked] == ["openai/some-model"]
    assert back.panel is not None and [m.cost for m in back.panel.members] == [0.002, None]
    named: list[str] = []

    def client(name: str) -> Client:
        named.append(name)
        return Client(model, portal, 1)

    loaded = frozen_judge(tmp_path / "panel.yaml", back, client, None)
    model.asked.clear()
    items = make_items(6)
    assert loaded.judge(items) == PanelJudge(
        "panel:P+Q", list(zip(members, (asking, own), strict=True)), SCALE, 3.0
    ).judge(items)
    assert named == ["openai/some-model"]
    assert {r.messages for r in model.asked} == {asking.requests(i)[0].messages for i in items}


def test_a_panel_takes_no_other_model(tmp_path: Path, portal: Portal) -> None:
    model = ScriptedModel(lambda r: '{"score": 4}', "openai/some-model")
    asking = LLMJudge(Client(model, portal, 1), score_prompt(ASPECT, (), ROLES), ASPECT)
    frozen_with([member_file(Member("z", 1.0), judge_file("llm", asking, ROLES))], Rubric(ASPECT.ref, (), 3.0)).save(
        tmp_path / "panel.yaml"
    )
    with pytest.raises(
        InputError, match=r"panel\.yaml is a panel, whose members name their own models; leave --model out"
    ):
        load_judge(tmp_path / "panel.yaml", model="openai/another")


@pytest.mark.parametrize(
    "method, problem", [("oracle", "its method is 'oracle'"), ("criteria", "was frozen with criteria/0")]
)
def test_a_member_of_another_version_is_refused(tmp_path: Path, method: str, problem: str) -> None:
    judge = JudgeFile(method=method, id="criteria/0", score_mode="criteria")
    frozen_with([member_file(Member("m", 1.0), judge)], Rubric(ASPECT.ref, (), 3.0)).save(tmp_path / "panel.yaml")
    with pytest.raises(RubricError, match=problem):
        load_judge(tmp_path / "panel.yaml")


@pytest.mark.parametrize("number", ["weight", "center", "spread", "base", "cost", "knots"])
def test_every_number_of_a_member_is_covered_by_the_hash(tmp_path: Path, number: str) -> None:
    path = tmp_path / "panel.yaml"
    member = member_file(Member("m", 1.0, 3.0, 1.0, (1.0, 2.0)), recorded_file("P"), cost=0.5)
    frozen_with([member], Rubric(ASPECT.ref, (), 3.0)).save(path)
    plain = yaml.safe_load(path.read_text(encoding="utf-8"))
    inside = plain["panel"]["members"][0]
    inside[number] = [1.0, 2.5] if number == "knots" else inside[number] + 0.5
    path.write_text(yaml.safe_dump(plain), encoding="utf-8")
    with pytest.raises(RubricError, match="changed after it was frozen"):
        load_judge(path)


def test_a_judge_that_is_no_panel_keeps_its_hash() -> None:
    """Files that were frozen before there were panels are still read."""
    assert "panel" not in SHIPPED.read_text(encoding="utf-8")
    assert read_frozen(SHIPPED).panel is None
