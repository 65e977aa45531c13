"""The probes put together: which there are, what they will take, and all of them on one judge."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from calibrator.errors import ConfigError
from calibrator.evaluation.agreement import failures_of
from calibrator.evaluation.probes.base import Finding, Probe, Subject
from calibrator.evaluation.probes.injection import Injection
from calibrator.evaluation.probes.order import Order
from calibrator.evaluation.probes.paraphrase import Paraphrase
from calibrator.evaluation.probes.preference import SelfPreference
from calibrator.evaluation.probes.repeatability import Repeatability
from calibrator.evaluation.probes.scale_use import ScaleUse
from calibrator.evaluation.probes.temperatures import TEMPERATURES, Temperatures
from calibrator.evaluation.probes.thresholds import Probed
from calibrator.evaluation.probes.verbosity import Verbosity
from calibrator.judges.modes import parse_mode
from calibrator.models.client import Client

SCORES = "scores"  # the verdicts on the items as they are, in a plan


@dataclass(frozen=True, slots=True)
class Settings:
    """How the probes are done: see the class of each for what its settings mean."""

    repeats: int = 3
    temperatures: tuple[float, ...] = TEMPERATURES
    paraphrases: int = 2
    per_family: int | None = None
    own: tuple[str, ...] = ()
    writer: Client | None = None


MAKERS: dict[str, Callable[[Settings], Probe]] = {
    Repeatability.name: lambda s: Repeatability(s.repeats),
    Temperatures.name: lambda s: Temperatures(s.temperatures),
    Order.name: lambda s: Order(),
    Paraphrase.name: lambda s: Paraphrase(s.paraphrases, s.writer),
    Verbosity.name: lambda s: Verbosity(),
    ScaleUse.name: lambda s: ScaleUse(),
    SelfPreference.name: lambda s: SelfPreference(s.own),
    Injection.name: lambda s: Injection(s.per_family),
}


def check_probes(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the probes to make, all where none is named, in their usual order. Raises ConfigError."""
    unknown = [n for n in names if n not in MAKERS]
    if unknown:
        raise ConfigError(f"--probes: there is none called '{unknown[0]}'; those there are: {', '.join(MAKERS)}")
    return tuple(n for n in MAKERS if n in names or not names)


def make_probes(names: Sequence[str], settings: Settings) -> tuple[Probe, ...]:
    """Return the probes of some names. Raises ConfigError as `check_probes` does."""
    return tuple(MAKERS[name](settings) for name in check_probes(names))


def with_draws(subject: Subject) -> Subject:
    """Return the subject with the requests counted that an LLM judge takes; any other judge is left as it is said.

    One that reads log-probabilities asks once whether there are any.
    """
    if subject.asked is None:
        return subject
    mode = parse_mode(subject.asked.mode)
    return replace(subject, draws=mode.draws, opening=int(bool(mode.logprobs)))


def planned(probes: Sequence[Probe], subject: Subject) -> dict[str, int]:
    """Return how many requests each probe takes at most; those of the verdicts on the items as they are come first."""
    scores = len(subject.items) * subject.draws + subject.opening
    return {SCORES: scores} | {p.name: p.calls(subject) for p in probes if not p.absent(subject)}


def run_probes(probes: Sequence[Probe], subject: Subject, stands_on: str, signature: str = "") -> Probed:
    """Judge the items as they are, carry out every probe that applies, and return what they found.

    `stands_on` says in words which items these are; `signature` begins the one of the figures. Raises what the models
    raise.
    """
    scored = replace(subject, base=subject.judge.judge(subject.items))
    return probed(scored, tuple(_found(p, scored) for p in probes), stands_on, signature)


def _found(probe: Probe, subject: Subject) -> Finding:
    why = probe.absent(subject)
    return Finding(probe.name, absent=why) if why else probe.find(subject)


def probed(subject: Subject, findings: tuple[Finding, ...], stands_on: str, signature: str = "") -> Probed:
    """Return findings on a subject with what they stand on."""
    groups = len(set(subject.groups))
    signed = f"n:{len(subject.items)}|groups:{groups}|seed:{subject.seed}|resamples:{subject.resamples}"
    whose = f"judge:{subject.judge.id}|mode:{subject.judge.mode}"
    return Probed(
        judge=subject.judge.id,
        mode=subject.judge.mode,
        aspect=subject.aspect.ref,
        scale=subject.aspect.scale,
        stands_on=stands_on,
        items=len(subject.items),
        groups=groups,
        failed=sum(failures_of(subject.base).values()),
        findings=findings,
        signature="|".join(filter(None, (signed, signature, whose))),
    )
