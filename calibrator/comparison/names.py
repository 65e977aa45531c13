"""Judges by name: `method[:argument][@model]`, several by comma.

    constant, length, uncalibrated      baselines
    criteria                            the embedded judge, fitted to train and dev
    zero-shot[:MODE]@MODEL              a model with the definition alone
    g-eval[:MODE]@MODEL                 a model with the steps that it wrote from the definition (Liu et al. 2023)
    calibrated[@MODEL]                  the whole calibration; without a model that of the embedded judge
    calibrated:FILE[@MODEL]             a frozen judge
    recorded:P, recorded                a column of the data (see `columns.recorded_column`); all there are
    metric:NAME[@WEIGHTS]               a metric of texts (see `metrics.named`), on its own scale
    panel:[ranks=]A+B+…                 judges joined, by a fit or by the mean of their ranks
    top:K[@MODEL]                       on a panel: the best K rubrics of a calibration
    human                               the rows of the humans, which are always there

MODE says how a score is got from replies: a score mode (`text`, `expected`, `sample:5`) or `t0.7`, the stated score at
that temperature. A comma within parentheses separates nothing: `recorded:metric/bleu (a, b)` is one name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from calibrator.errors import ConfigError
from calibrator.judges.metric import metric_that_judges
from calibrator.judges.modes import FEWEST, MOST, SAMPLE_TEMPERATURE, SampleMode, ScoreMode, TextMode, parse_mode
from calibrator.metrics.named import parse_metric

BASELINES = ("constant", "length", "uncalibrated")
PROMPTED = ("zero-shot", "g-eval")
METHODS = (*BASELINES, "criteria", *PROMPTED, "calibrated", "recorded", "metric", "panel", "top", "human")
ALONE = (*BASELINES, "criteria", "human")  # take neither an argument nor a model
RANKS = "ranks="
BEST = 50  # rubrics of a calibration, at most
_TEMPERATURE = re.compile(r"t([0-9](?:\.[0-9]+)?)")
_COUNT = re.compile("[0-9]{1,2}")


@dataclass(frozen=True, slots=True)
class JudgeName:
    """A judge as it is named; `members` are those of a panel, joined by "fit" or "ranks"."""

    method: str
    argument: str = ""
    model: str = ""
    members: tuple[JudgeName, ...] = ()
    join: str = ""

    def __str__(self) -> str:
        if self.members:
            return f"panel:{RANKS if self.join == 'ranks' else ''}{'+'.join(map(str, self.members))}"
        argument = f":{self.argument}" if self.argument else ""
        return f"{self.method}{argument}{f'@{self.model}' if self.model else ''}"

    @property
    def asks(self) -> bool:
        """Whether it needs a model and names none."""
        wants = self.method in (*PROMPTED, "top") or (self.method == "calibrated" and not self.argument)
        return (wants and not self.model) or any(m.asks for m in self.members)

    @property
    def models(self) -> tuple[str, ...]:
        """The models that it names."""
        own = (self.model,) if self.model else ()
        return own + tuple(model for m in self.members for model in m.models)

    @property
    def searches(self) -> bool:
        """Whether a calibration is made for it."""
        own = self.method == "top" or (self.method == "calibrated" and not self.argument)
        return own or any(m.searches for m in self.members)

    @property
    def recorded(self) -> tuple[str, ...]:
        """The recorded judges that it stands on."""
        own = (self.argument,) if self.method == "recorded" and self.argument else ()
        return own + tuple(r for m in self.members for r in m.recorded)


def parse_judges(text: str) -> tuple[JudgeName, ...]:
    """Return the judges in a list by comma. Raises ConfigError, which says what may be named, if one is none."""
    names = tuple(parse_judge(part) for part in _split(text, ",") if part.strip())
    if not names:
        raise ConfigError(f"--judges names nobody; those there are: {', '.join(METHODS)}")
    again = [str(n) for k, n in enumerate(names) if n in names[:k]]
    if again:
        raise ConfigError(f"--judges: {again[0]} is named twice")
    return names


def parse_judge(text: str) -> JudgeName:
    """Return the judge of one name. Raises ConfigError if it is none."""
    said = text.strip()
    method = re.split("[:@]", said, maxsplit=1)[0]
    rest = said[len(method) :]
    if method not in METHODS:
        raise ConfigError(f"--judges: '{said}' is no judge; methods: {', '.join(METHODS)}")
    if method in ALONE and rest:
        raise ConfigError(f"--judges: '{said}': {method} takes no argument and no model")
    if method == "panel":
        return _panel(said, rest)
    if method == "recorded":  # column names may hold anything
        return JudgeName(method, rest.removeprefix(":").strip())
    if method == "metric":  # what stands behind @ are weights, and no model that is asked
        return JudgeName(method, _metric(said, rest.removeprefix(":")))
    argument, _, model = (rest[1:] if rest.startswith(":") else rest).partition("@")
    name = JudgeName(method, argument.strip(), model.strip())
    if method in PROMPTED and argument:
        asked_how(name, TextMode())
    if method == "top" and not (_COUNT.fullmatch(name.argument) and 1 <= int(name.argument) <= BEST):
        raise ConfigError(f"--judges: '{said}': say how many of the best rubrics, such as top:3")
    return name


def _metric(said: str, rest: str) -> str:
    try:
        metric_that_judges(rest)
    except ConfigError as error:
        raise ConfigError(f"--judges: '{said}': {error}") from None
    return str(parse_metric(rest))


def _panel(said: str, rest: str) -> JudgeName:
    argument = rest.removeprefix(":").strip()
    join = "ranks" if argument.startswith(RANKS) else "fit"
    members = tuple(parse_judge(part) for part in _split(argument.removeprefix(RANKS), "+") if part.strip())
    if not members:
        raise ConfigError(f"--judges: '{said}' has no members; write panel:criteria+recorded:gpt-4/zero-shot")
    for member in members:
        if member.method in ("panel", "human", *BASELINES) or members.count(member) > 1:
            why = "is named twice" if members.count(member) > 1 else f"cannot be a member: {member.method}"
            raise ConfigError(f"--judges: '{said}': {member} {why}")
    return JudgeName("panel", members=members, join=join)


def asked_how(name: JudgeName, otherwise: ScoreMode) -> tuple[ScoreMode, float]:
    """Return the score mode and the temperature that a judge's argument says, `otherwise` and its own if it says none.

    Raises ConfigError if it is neither a score mode nor a temperature.
    """
    mode, temperature = otherwise, None
    if match := _TEMPERATURE.fullmatch(name.argument):
        mode, temperature = TextMode(), float(match[1])
        if temperature > 2:
            raise ConfigError(f"--judges: '{name}': a temperature is from 0 to 2")
    elif name.argument:
        try:
            mode = parse_mode(name.argument)
        except ConfigError:
            forms = f"text, expected, or sample:n with n from {FEWEST} to {MOST}, such as sample:20"
            problem = f"'{name.argument}' is no score mode ({forms}) and no temperature (such as t0.7)"
            raise ConfigError(f"--judges: '{name}': {problem}") from None
    usual = SAMPLE_TEMPERATURE if isinstance(mode, SampleMode) else 0.0
    return mode, usual if temperature is None else temperature


def with_models(names: Sequence[JudgeName], models: Sequence[str]) -> tuple[JudgeName, ...]:
    """Return the judges, those that need a model once for each of `models`; a panel's members go with the same model.

    Raises ConfigError if one needs a model and there is none. `calibrated` without a model stays the embedded one where
    there is no model at all.
    """
    found: list[JudgeName] = []
    for name in names:
        if not name.asks:
            found.append(name)
        elif models:
            found += [_with(name, model) for model in models]
        elif _embedded(name):
            found.append(name)
        else:
            who = next((m for m in name.members if m.asks and not _embedded(m)), name)
            raise ConfigError(f"{who} asks a model; name one: --model openai/gpt-4o-mini, or {who}@local/smollm2")
    return tuple(dict.fromkeys(found))


def _with(name: JudgeName, model: str) -> JudgeName:
    if name.members:
        members = dict.fromkeys(_with(m, model) if m.asks else m for m in name.members)
        return replace(name, members=tuple(members))
    return replace(name, model=model)


def _embedded(name: JudgeName) -> bool:
    """Whether a judge that may go without a model does."""
    if name.members:
        return all(_embedded(m) for m in name.members if m.asks)
    return name.method in ("calibrated", "top")


def _split(text: str, mark: str) -> Iterable[str]:
    """Yield the parts of a text between marks that stand outside of parentheses."""
    part, depth = "", 0
    for letter in text:
        depth += (letter == "(") - (letter == ")" and depth > 0)
        if letter == mark and depth == 0:
            yield part
            part = ""
        else:
            part += letter
    yield part
