"""Before a comparison: which judges there are to compare, and how many calls of which model they take at most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from calibrator.calibration.config import RunConfig
from calibrator.calibration.method import with_model
from calibrator.calibration.prepare import STEPS_TAKEN, Prepared, plan
from calibrator.catalog import Source
from calibrator.columns import recorded_column, recorded_names
from calibrator.comparison.making import PAPER_SAMPLES, config_with
from calibrator.comparison.names import JudgeName, asked_how
from calibrator.drafting.g_eval import TRIES
from calibrator.errors import DataError
from calibrator.judges.expected import ExpectedMode
from calibrator.judges.frozen import read_frozen
from calibrator.judges.metric import METHOD as METRIC
from calibrator.judges.metric import MetricJudge, metric_that_judges
from calibrator.judges.modes import parse_mode
from calibrator.judges.places import find_frozen
from calibrator.metrics.measure import check_texts
from calibrator.models.build import Connections
from calibrator.models.rate import LETTERS_A_TOKEN
from calibrator.prompts import item_texts, score_prompt

FIRST = ("constant", "length")  # in every comparison
EMBEDDED = (*FIRST, "uncalibrated", "criteria")
ASKING = ("zero-shot", "g-eval", "calibrated")


def judges_for(
    names: Sequence[JudgeName], source: Source, aspect: str, *, several: bool, said: bool = True
) -> tuple[tuple[JudgeName, ...], tuple[str, ...]]:
    """Return the judges of an aspect, and what is to be said of those that are left out.

    `recorded` alone becomes all recorded judges that the table has for the aspect. With `several` aspects a recorded
    judge may be there for some of them only, and is left out of the others; else a missing one raises DataError. If the
    user named the judges (`said`), it is told where there is none that is recorded.
    """
    found = [JudgeName(name) for name in FIRST]
    missing: list[str] = []
    for name in names:
        if name.method == "recorded" and not name.argument:
            names_there = recorded_names(source.table, aspect)
            found += [JudgeName("recorded", column) for column in names_there]
            if not names_there and said:
                form = f"'<judge>/{aspect}' or 'recorded.<judge>.{aspect}'"
                missing.append(f"no column is named {form}; name recorded judges by their columns: recorded:COLUMN")
            continue
        spread = tuple(m for member in name.members for m in _spread(member, source, aspect))
        chosen = replace(name, members=tuple(dict.fromkeys(spread)))
        try:
            for column in needed(chosen):
                recorded_column(source.table, column, aspect)
        except DataError:
            if not several:
                raise
            missing.append(f"{aspect}: {name} is left out, the data has no such scores")
            continue
        found.append(chosen)
    return tuple(dict.fromkeys(found)), tuple(missing)


def _spread(member: JudgeName, source: Source, aspect: str) -> tuple[JudgeName, ...]:
    """Return a member of a panel; for `recorded` alone all recorded judges that the table has."""
    if member.method != "recorded" or member.argument:
        return (member,)
    return tuple(JudgeName("recorded", column) for column in recorded_names(source.table, aspect))


def needed(name: JudgeName) -> tuple[str, ...]:
    """Return the recorded judges that a judge stands on, those of a frozen panel too."""
    if name.method == "calibrated" and name.argument:
        return read_frozen(find_frozen(name.argument)).recorded
    return name.recorded + tuple(r for m in name.members for r in needed(m) if m.method == "calibrated")


def check_metrics(names: Sequence[JudgeName], prepared: Prepared, columns: Sequence[str]) -> None:
    """Raise what a metric lacks, before anything is written down or looked at.

    ConfigError, with the columns there are, for a text; ModelMissing, with the command that provides them, for weights.
    """
    mapped = prepared.dataset.mapped
    there = [role for role in ("output", "source", "reference") if getattr(mapped, role)]
    for name in (m for n in names for m in (n, *n.members) if m.method == METRIC):
        asked = metric_that_judges(name.argument)
        check_texts([asked], there, columns)
        MetricJudge(name.argument)


def calls(
    names: Sequence[JudgeName], config: RunConfig, prepared: Prepared, connections: Connections, *, mapped: bool
) -> Counter[str]:
    """Return how many calls each model will be asked for, at most.

    A judge on a panel, or one whose scores are `mapped`, judges train and dev too; one that is named twice, alone and
    on a panel, is asked once. Raises what opening a model raises.
    """
    known, test = len(prepared.split.train) + len(prepared.split.dev), len(prepared.split.test)
    members = {m for name in names for m in name.members}
    asked: Counter[str] = Counter()
    for name in dict.fromkeys([*(n for n in names if not n.members), *members]):
        items = test + (known if name in members or mapped else 0)
        if name.method == "calibrated" and name.argument:
            for one in read_frozen(find_frozen(name.argument)).judges:
                if one.asked is not None:
                    mode = parse_mode(one.score_mode)
                    asked[name.model or one.asked.model] += items * mode.draws + bool(mode.logprobs)
        elif name.model and name.method in ("calibrated", "top"):
            own = config_with(config, name.model)
            method = with_model(own, prepared.aspect, prepared.roles, connections)
            whole = plan(own, prepared, method).calls
            count = int(name.argument) if name.method == "top" else 1
            asked[name.model] += whole + count * items * own.mode.draws
        elif name.model:
            asked[name.model] += _prompted(name, config, items)
    return asked


def tokens_a_call(prepared: Prepared) -> float:
    """Return an estimate of the prompt tokens of a judgment: a usual rubric, and texts as long as those known."""
    items = prepared.split.train + prepared.split.dev
    texts = sum(len(t) for i in items for t in item_texts(i).values()) / max(1, len(items))
    frame = sum(len(p.text) for p in score_prompt(prepared.aspect, STEPS_TAKEN, prepared.roles).parts)
    return (frame + texts) / LETTERS_A_TOKEN


def _prompted(name: JudgeName, config: RunConfig, items: int) -> int:
    if name.method == "zero-shot":
        mode, _ = asked_how(name, config.mode)
        return items * mode.draws + bool(mode.logprobs)
    mode, _ = asked_how(name, ExpectedMode())
    draws = mode.draws if name.argument else PAPER_SAMPLES.n  # if the model gives no log-probabilities
    return TRIES + 1 + items * draws
