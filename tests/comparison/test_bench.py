"""The bench: each judge is asked once, and what models cost is booked to whoever it was for, whatever comes between."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import pytest

from calibrator.comparison.bench import KNOWN, TEST, Bench, Outcome, total_cost
from calibrator.drafting.g_eval import g_eval_rubric
from calibrator.journal import Journal
from calibrator.judges.base import Judge
from calibrator.judges.llm import LLMJudge
from calibrator.judges.wording import in_words
from calibrator.models.base import Sampling
from calibrator.models.build import Access, Connections
from calibrator.models.prices import Price
from calibrator.prompts import score_prompt
from calibrator.records import Failure, Item, Judgment, Rubric, Verdict
from tests.comparison.making import ASPECT
from tests.conftest import make_items
from tests.doubles.server import Double, serving

ROLES = ("source", "output")
PRICED = Access(price=Price(1e-4, 3e-4), width=2)
ITEMS = make_items(6)
MODEL, WRITER = "one", "two"
JUDGES = {"zero": MODEL, "warm": MODEL, "g-eval": WRITER}


class Interrupted(BaseException):
    """As a Ctrl-C or a kill: nothing that is written for errors catches it."""


@dataclass
class Broken:
    """A judge whose work ends after so many items."""

    inner: Judge
    after: int

    def __post_init__(self) -> None:
        self.id, self.mode = self.inner.id, self.inner.mode

    def judge(self, items: Sequence[Item]) -> tuple[Verdict, ...]:
        self.inner.judge(items[: self.after])
        raise Interrupted


@dataclass
class Counting:
    """A judge that counts how often it is asked."""

    asked: list[int] = field(default_factory=list)
    id: str = "counting"
    mode: str = "counted"

    def judge(self, items: Sequence[Item]) -> tuple[Verdict, ...]:
        self.asked.append(len(items))
        return tuple(
            Failure(i.id, "no idea") if k % 2 else Judgment(i.id, 10 / 3, self.mode) for k, i in enumerate(items)
        )


@pytest.fixture(scope="module")
def double(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Double]:
    with serving(tmp_path_factory.mktemp("bench") / "log") as server:
        yield server


@pytest.fixture
def free(tmp_path: Path) -> Iterator[Bench]:
    with Connections(Access()) as connections:
        yield Bench(Journal(tmp_path / "journal.jsonl"), connections)


# -- asked once --------------------------------------------------------------------------------------------------------


def test_a_judge_is_asked_once_for_a_side(free: Bench) -> None:
    judge = Counting()
    first, again = free.judged("n", judge, TEST, ITEMS), free.judged("n", judge, TEST, ITEMS)
    assert judge.asked == [6]
    assert first is again
    assert first.verdicts == Counting().judge(ITEMS)
    assert (first.cost, first.seconds >= 0) == (0.0, True)


@pytest.mark.parametrize(
    "other",
    [
        lambda b: b.judged("another", Counting(), TEST, ITEMS),
        lambda b: b.judged("n", Counting(), KNOWN, ITEMS),
        lambda b: Bench(b.journal, b.connections, "another aspect").judged("n", Counting(), TEST, ITEMS),
        lambda b: b.judged("n", Counting(id="other"), TEST, ITEMS),
        lambda b: b.judged("n", Counting(mode="other"), TEST, ITEMS),
        lambda b: b.judged("n", Counting(), TEST, ITEMS[:5]),
        lambda b: b.judged("n", Counting(), TEST, ITEMS[::-1]),
        lambda b: b.judged("n", Counting(), TEST, [replace(i, key=f"{i.key}x") for i in ITEMS]),
    ],
)
def test_what_another_was_asked_is_not_taken_for_it(free: Bench, other: Callable[[Bench], Outcome]) -> None:
    free.judged("n", Counting(), TEST, ITEMS)
    before = len(free.journal)
    other(free)
    assert len(free.journal) == before + 1


def test_a_second_start_finds_verdicts_cost_and_seconds_to_the_last_digit(tmp_path: Path) -> None:
    found = []
    judge = Counting()
    for _ in range(2):
        with Connections(Access()) as connections:
            found.append(Bench(Journal(tmp_path / "journal.jsonl"), connections).judged("n", judge, TEST, ITEMS))
    assert judge.asked == [6]
    assert found[0] == found[1]


def test_what_is_made_is_made_at_every_start_and_written_down_once(free: Bench) -> None:
    made: list[int] = []
    for k in range(2):
        assert free.made("n", lambda k=k: made.append(k) or k) == (k, 0.0)
    assert made == [0, 1]
    assert len(free.journal) == 1


def test_costs_are_added_only_where_all_are_known() -> None:
    assert total_cost([]) == 0.0
    assert total_cost([0.25, 0.5, 0.0]) == 0.75
    assert total_cost([0.25, None]) is None


# -- what models cost --------------------------------------------------------------------------------------------------


@dataclass
class Work:
    """A comparison of three judges on two models: b's steps are written by b; all of it as one sitting does it.

    `broken` says in which step the sitting ends, and after how many items or requests.
    """

    journal: Path
    double: Double
    broken: tuple[str, int] | None = None
    access: Access = PRICED

    def __call__(self) -> dict[str, float | None]:
        found: dict[str, float | None] = {}
        journal = Journal(self.journal)
        with Connections(self.access, journal) as connections:
            bench = Bench(journal, connections)
            judges: dict[str, LLMJudge] = {}
            for name in JUDGES:
                judges[name], found[f"made {name}"] = bench.made(name, partial(self._made, connections, name))
            for side, items in ((KNOWN, ITEMS[:4]), (TEST, ITEMS[2:])):
                for name, judge in judges.items():
                    outcome = bench.judged(name, self._judge(f"{side} {name}", judge), side, items)
                    found[f"{side} {name}"] = outcome.cost
                    assert all(isinstance(v, Judgment) for v in outcome.verdicts)
        return found

    def _judge(self, step: str, judge: LLMJudge) -> Judge:
        return Broken(judge, self.broken[1]) if self.broken and self.broken[0] == step else judge

    def _made(self, connections: Connections, name: str) -> LLMJudge:
        client = connections.client(f"{self.double.url}#{JUDGES[name]}")
        rubric = Rubric(ASPECT.ref, ())
        if name == "g-eval":
            written = g_eval_rubric(client, ASPECT, ROLES)
            assert isinstance(written, Rubric)
            rubric = written
        if self.broken and self.broken[0] == f"made {name}":
            raise Interrupted
        sampling = Sampling(0.5 if name == "warm" else 0.0)
        return LLMJudge(client, score_prompt(ASPECT, in_words(rubric), ROLES), ASPECT, sampling)


STEPS = [
    *(("made zero", 0), ("made g-eval", 1)),
    *((f"{side} {name}", k) for side in (KNOWN, TEST) for name in ("zero", "warm", "g-eval") for k in (0, 2, 4)),
]


@pytest.fixture(scope="module")
def straight(double: Double, tmp_path_factory: pytest.TempPathFactory) -> dict[str, float | None]:
    """What each step costs where nothing comes between."""
    return Work(tmp_path_factory.mktemp("straight") / "journal.jsonl", double)()


def test_each_judge_is_booked_what_it_cost(straight: dict[str, float | None], double: Double, tmp_path: Path) -> None:
    before = len(double.asked())
    work = Work(tmp_path / "journal.jsonl", double)
    costs = work()
    asked = double.asked()[before:]
    # 4 items known and 2 new ones on the test side, for three judges, and the steps of one: no reply is bought twice.
    assert len(asked) == len(set(asked)) == 3 * 6 + 1
    assert costs == {step: pytest.approx(cost) for step, cost in straight.items()}
    assert costs["made zero"] == costs["made warm"] == 0.0
    assert all(cost is not None and cost > 0 for step, cost in costs.items() if step not in ("made zero", "made warm"))
    with Connections(PRICED, Journal(tmp_path / "journal.jsonl")) as connections:
        for model in (MODEL, WRITER):
            connections.client(f"{double.url}#{model}")
        spent = total_cost([s.cost for s in connections.spent.values()])
    assert total_cost(list(costs.values())) == pytest.approx(spent)


@pytest.mark.parametrize("broken", STEPS, ids=lambda b: f"{b[0]} after {b[1]}")
def test_after_an_interruption_and_a_second_start_each_judge_is_booked_the_same(
    straight: dict[str, float | None], double: Double, tmp_path: Path, broken: tuple[str, int]
) -> None:
    before = len(double.asked())
    work = Work(tmp_path / "journal.jsonl", double, broken)
    with pytest.raises(Interrupted):
        work()
    work.broken = None
    costs = work()
    assert costs == {step: pytest.approx(cost, abs=1e-12) for step, cost in straight.items()}
    asked = double.asked()[before:]
    assert len(asked) == len(set(asked)) == 3 * 6 + 1
    assert work() == costs  # and whoever starts a third time asks nothing and finds the same
    assert len(double.asked()[before:]) == len(asked)


@pytest.mark.parametrize("broken", [False, True])
def test_a_second_aspect_is_not_booked_what_the_first_one_cost(double: Double, tmp_path: Path, broken: bool) -> None:
    """A bench for each aspect, with one journal and one model."""
    asked = {about: score_prompt(ASPECT, (f"Look at the {about}.",), ROLES) for about in ("words", "tone ")}

    def sitting(broken: bool) -> dict[str, float | None]:
        journal = Journal(tmp_path / "journal.jsonl")
        with Connections(PRICED, journal) as connections:
            client = connections.client(f"{double.url}#{MODEL}")
            costs = {}
            for about, prompt in asked.items():
                judge = LLMJudge(client, prompt, ASPECT)
                once: Judge = Broken(judge, 3) if broken and about == "tone " else judge
                costs[about] = Bench(journal, connections, about).judged("zero-shot", once, TEST, ITEMS).cost
        return costs

    if broken:
        with pytest.raises(Interrupted):
            sitting(True)
    costs = sitting(False)
    assert costs["words"] is not None and costs["words"] > 0
    assert costs["words"] == pytest.approx(costs["tone "])
    assert sitting(False) == costs


def test_a_judge_that_comes_in_later_is_not_booked_what_others_cost(double: Double, tmp_path: Path) -> None:
    """What is replayed at its side was asked before much that is booked elsewhere."""
    prompts = {n: score_prompt(ASPECT, (f"Look at the {n}.",), ROLES) for n in ("words", "tone ", "style")}

    def sitting(work: Sequence[tuple[str, str]]) -> list[float | None]:
        journal = Journal(tmp_path / "journal.jsonl")
        with Connections(PRICED, journal) as connections:
            client = connections.client(f"{double.url}#{MODEL}")
            benches = {about: Bench(journal, connections, about) for about in ("first", "second")}
            return [
                benches[about].judged(n, LLMJudge(client, prompts[n], ASPECT), TEST, ITEMS).cost for about, n in work
            ]

    words, tone = sitting([("first", "words"), ("second", "tone ")])
    again, late, there = sitting([("first", "words"), ("first", "style"), ("second", "tone ")])
    assert (again, there) == (words, tone)
    assert words is not None and words > 0
    assert [tone, late] == pytest.approx([words, words])


def test_several_interruptions_one_after_the_other(
    straight: dict[str, float | None], double: Double, tmp_path: Path
) -> None:
    work = Work(tmp_path / "journal.jsonl", double)
    for work.broken in STEPS:
        with pytest.raises(Interrupted):
            work()
    work.broken = None
    assert work() == {step: pytest.approx(cost, abs=1e-12) for step, cost in straight.items()}


def test_what_another_judge_has_paid_for_costs_nothing_again(double: Double, tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.jsonl")
    with Connections(PRICED, journal) as connections:
        client = connections.client(f"{double.url}#{MODEL}")
        judge = LLMJudge(client, score_prompt(ASPECT, (), ROLES), ASPECT)
        bench = Bench(journal, connections)
        first, again = (bench.judged(n, judge, TEST, ITEMS) for n in ("one", "another"))
    assert first.verdicts == again.verdicts
    assert first.cost is not None and first.cost > 0
    assert again.cost == 0.0


def test_without_a_price_the_cost_of_those_who_asked_is_not_known(double: Double, tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.jsonl")
    with Connections(Access(), journal) as connections:
        client = connections.client(f"{double.url}#{MODEL}")
        bench = Bench(journal, connections)
        asking = LLMJudge(client, score_prompt(ASPECT, (), ROLES), ASPECT)
        assert bench.judged("asking", asking, TEST, ITEMS).cost is None
        assert bench.judged("counting", Counting(), TEST, ITEMS).cost == 0.0  # it asked nobody
        assert bench.judged("again", asking, TEST, ITEMS).cost == 0.0  # nor did this one: all was there
