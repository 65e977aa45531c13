"""Who is probed, and on what: from the name of a judge and what the user said to the subject of the probes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from calibrator.calibration.config import RunConfig, check_models, make_config
from calibrator.calibration.method import embedded, with_model
from calibrator.calibration.prepare import Prepared
from calibrator.errors import ConfigError
from calibrator.evaluation.probes.base import Subject
from calibrator.evaluation.probes.run import with_draws
from calibrator.judges.base import Judge
from calibrator.judges.build import frozen_judge
from calibrator.judges.frozen import FrozenJudge
from calibrator.judges.modes import parse_mode
from calibrator.judges.places import find_frozen
from calibrator.judges.recorded import RecordedJudge, goes_by
from calibrator.judges.wording import in_words
from calibrator.models.build import Connections
from calibrator.models.client import Client
from calibrator.records import Item, Rubric, Verdict
from calibrator.report.console import tell_aside
from calibrator.split import Sealed
from calibrator.store import Ledger
from calibrator.texts import digest

CRITERIA, ZERO_SHOT, RECORDED_AS = "criteria", "zero-shot", "recorded:"
WITH_MODEL = 40  # items, where a model is asked and nobody said how many
Told = Callable[[Verdict], None]


@dataclass(frozen=True, slots=True)
class Asked:
    """What the user asked for; `said` are settings of `RunConfig` that were given."""

    judge: str
    said: Mapping[str, Any]
    columns: Mapping[str, object]
    probes: tuple[str, ...]
    items: int | None
    repeats: int
    temperatures: tuple[float, ...]
    paraphrases: int
    paraphraser: str | None
    attacks: int | None
    own: tuple[str, ...]
    thresholds: Mapping[str, str]
    out: Path | None
    runs: Path


@dataclass(frozen=True, slots=True)
class Named:
    """The judge that a name means, with what `Subject` says of a judge."""

    judge: Judge
    steps: tuple[str, ...] = ()
    draws: int = 0
    opening: int = 0
    fixed: bool = False


def config_of(asked: Asked, frozen: FrozenJudge | None) -> RunConfig:
    """Return the configuration that data, split and judge follow from; a frozen judge brings its own aspect and split.

    Raises ConfigError for options that do not go with the judge.
    """
    said, columns = dict(asked.said), dict(asked.columns)
    if frozen is None:
        if asked.judge == ZERO_SHOT and "model" not in said:
            raise ConfigError("zero-shot: say which model judges: --model openai/gpt-4o-mini")
        if asked.judge != ZERO_SHOT and "model" in said:
            raise ConfigError(f"{asked.judge} asks no model; leave --model out")
        if asked.judge.startswith(RECORDED_AS):
            columns["recorded"] = (asked.judge.removeprefix(RECORDED_AS),)
    else:
        said |= _of_frozen(asked, frozen)
        columns["recorded"] = frozen.recorded
    config = make_config(**said, columns=columns)
    check_models(config)
    return config


def _of_frozen(asked: Asked, frozen: FrozenJudge) -> dict[str, Any]:
    """Return the settings that a frozen judge brings. Raises ConfigError for options that would change it."""
    if own := [k for k in ("score_mode", "max_tokens") if k in asked.said]:
        raise ConfigError(f"--{own[0].replace('_', '-')}: a frozen judge has its own; leave it out")
    if "model" in asked.said and not frozen.asked:
        raise ConfigError(f"{asked.judge} is a {frozen.judge.method} judge and asks no model; leave --model out")
    if "model" in asked.said and frozen.panel is not None:
        raise ConfigError(f"{asked.judge} is a panel, whose members name their own models; leave --model out")
    scale, of = frozen.aspect.scale, f"{frozen.aspect.suite}/{frozen.aspect.name}"
    brought = {"seed": frozen.origin.seed, "scale": f"{scale.min:g}..{scale.max:g}/{scale.step:g}"}
    models = {"model": frozen.asked[0].model} if frozen.asked and "model" not in asked.said else {}
    return {**brought, **models, "aspect": asked.said.get("aspect", of)}


def judge_of(
    name: str,
    frozen: FrozenJudge | None,
    config: RunConfig,
    prepared: Prepared,
    connections: Connections,
    told: Told,
) -> Named:
    """Return the judge that a name means.

    `criteria` is fitted to train and dev, `zero-shot` and `recorded:P` to nothing; any other name is a frozen judge.
    Raises ConfigError for recorded scores on a scale of their own, RubricError and ModelError as `load_judge` does.
    """
    if frozen is not None:
        return _frozen(name, frozen, config, connections, told)
    known = prepared.split.train + prepared.split.dev
    if name == CRITERIA:
        method = embedded(prepared.aspect, config.objective)
        assert method.fresh is not None
        return Named(method.judge(method.fresh(known)))
    if name == ZERO_SHOT:
        asking = with_model(config, prepared.aspect, prepared.roles, connections, told)
        return Named(asking.judge(Rubric(prepared.aspect.ref, ())))
    column, scale = name.removeprefix(RECORDED_AS), prepared.aspect.scale
    if not goes_by(scale, column, known):
        raise ConfigError(f"{name}: its scores are not on the scale {scale}; what probes tell is in points of it")
    return Named(RecordedJudge(column, scale), fixed=True)


def _frozen(name: str, frozen: FrozenJudge, config: RunConfig, connections: Connections, told: Told) -> Named:
    first = frozen.asked[0].model if frozen.asked else None
    if config.model != first:
        tell_aside([f"{name} was calibrated with {first}, and is probed with {config.model}"])

    def client(model: str) -> Client:
        return connections.client(model if frozen.panel is not None else config.model or model)

    judge = frozen_judge(find_frozen(name), frozen, client, told)
    modes = [parse_mode(j.score_mode) for j in frozen.judges if j.asked is not None]
    draws, opening = sum(m.draws for m in modes), sum(bool(m.logprobs) for m in modes)
    return Named(judge, in_words(frozen.rubric()), draws, opening, bool(frozen.recorded))


def subject_of(
    asked: Asked, frozen: FrozenJudge | None, config: RunConfig, prepared: Prepared, named: Named
) -> tuple[Subject, str]:
    """Return what is probed, and in words which items these are; the look at a test side is entered first."""
    aspect = prepared.aspect if frozen is None else frozen.aspect.aspect()
    seed = int(asked.said.get("seed", 0))
    items, where = _ground(asked, frozen, prepared, named.judge)
    about = (named.steps, named.draws, named.opening, named.fixed, config.resamples)
    subject = with_draws(Subject(named.judge, aspect, items, seed, *about))
    most = asked.items or (WITH_MODEL if subject.draws else len(items))
    if most < len(items):
        drawn = sorted(np.random.default_rng(seed).permutation(len(items))[:most].tolist())
        subject = replace(subject, items=tuple(items[k] for k in drawn))
        where = f"{most} by lot (seed {seed}) of {where}"
    return subject, where


def _ground(asked: Asked, frozen: FrozenJudge | None, prepared: Prepared, judge: Judge) -> tuple[tuple[Item, ...], str]:
    """Return the items that the judge was not fitted to, where that is known, and what they are in words."""
    split, dataset = prepared.split, prepared.dataset
    who = f"probe-{digest([asked.judge, judge.id, judge.mode, frozen.content_hash if frozen else ''])[:12]}"

    def looked(test: Sealed, split_digest: str, what: str) -> tuple[tuple[Item, ...], str]:
        look = Ledger(asked.runs).look(test.digest, split_digest, who)
        return test.unseal(look), f"the {len(test)} items of {what} (look {look} at it)"

    if frozen is None or split.digest == frozen.origin.split_digest:
        return looked(split.test, split.digest, f"the test side of {dataset.name}, split by seed {split.seed}")
    whole = Sealed(dataset.items)
    if whole.digest == frozen.origin.test_digest:
        return looked(whole, frozen.origin.split_digest, f"{dataset.name}, the judge's own test side")
    if dataset.digest == frozen.origin.data_digest:
        tell_aside([f"{asked.judge} was calibrated on these very items, and tested on others: figures may flatter it"])
        return dataset.items, f"all {len(dataset.items)} items of {dataset.name}, on which it was calibrated"
    about = f"all {len(dataset.items)} items of {dataset.name}"
    return dataset.items, f"{about}, which is not the data it was calibrated on ({frozen.origin.data})"
