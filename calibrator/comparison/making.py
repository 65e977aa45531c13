"""From the name of a judge to the judge, fitted to train and dev where it is fitted to anything."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from calibrator.calibration.config import RunConfig, make_config
from calibrator.calibration.loop import choose
from calibrator.calibration.method import CONSTANT, LENGTH, UNCALIBRATED, Method, embedded, with_model
from calibrator.calibration.prepare import Prepared
from calibrator.calibration.progress import Progress
from calibrator.calibration.result import CALIBRATED
from calibrator.comparison.names import JudgeName, asked_how
from calibrator.drafting.g_eval import g_eval_rubric
from calibrator.errors import ConfigError, ModelUnfit
from calibrator.judges.base import Judge
from calibrator.judges.build import frozen_judge
from calibrator.judges.expected import ExpectedMode
from calibrator.judges.frozen import read_frozen
from calibrator.judges.llm import METHOD, LLMJudge
from calibrator.judges.metric import METHOD as METRIC
from calibrator.judges.metric import MetricJudge
from calibrator.judges.modes import SampleMode, ScoreMode
from calibrator.judges.places import find_frozen
from calibrator.judges.recorded import METHOD as RECORDED
from calibrator.judges.recorded import RecordedJudge, goes_by
from calibrator.judges.wording import in_words
from calibrator.models.base import Sampling
from calibrator.models.build import Connections
from calibrator.models.client import Client
from calibrator.prompts import score_prompt
from calibrator.records import Item, NoRubric, Rubric
from calibrator.store import Run
from calibrator.texts import digest

CRITERIA = "criteria"
OFF_SCALE = "its scores are not on the scale"
FEWEST, SAME = 12, 0.95  # so many items, and this share of equal scores, are no chance
PAPER_SAMPLES = SampleMode(20)  # G-Eval's own way where there are no probabilities
_BASELINE = {"constant": CONSTANT, "length": LENGTH, "uncalibrated": UNCALIBRATED}


@dataclass(frozen=True, slots=True)
class Made:
    """A judge that can be compared.

    `kind` and `rubric` are what it is frozen by; `fit` makes it anew on other items, None where it is fitted to nothing
    here, or where that would cost a search: then `seen` says that it was chosen or fitted by ratings of train and dev.
    `on_scale` says whether its scores are on the aspect's scale. `notes` say what a reader must know of it.
    """

    name: str
    family: str
    judge: Judge
    kind: str
    rubric: Rubric
    model: str | None = None
    fit: Callable[[Sequence[Item]], Judge] | None = None
    on_scale: bool = True
    seen: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A judge that could not be made, with the reason."""

    name: str
    family: str
    reason: str


@dataclass(slots=True)
class Maker:
    """Makes the judges of one aspect. `folder` is where calibrations on the way keep what they came to."""

    prepared: Prepared
    config: RunConfig
    connections: Connections
    folder: Path
    progress: Progress
    _method: Method = field(init=False)
    _chosen: dict[str, tuple[Method, tuple[Rubric, ...], tuple[str, ...]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Take the embedded method; it remembers what it measured."""
        self._method = embedded(self.prepared.aspect, self.config.objective)

    @property
    def known(self) -> tuple[Item, ...]:
        """The items of train and dev."""
        return self.prepared.split.train + self.prepared.split.dev

    def made(self, name: JudgeName) -> tuple[Made | LeftOut, ...]:
        """Return the judge of a name, which for `top:k` is k judges.

        Raises what is wrong with a name, and what models raise.
        """
        if name.method == "top":
            return self._top(name)
        makers: dict[str, Callable[[JudgeName], Made | LeftOut]] = {
            CRITERIA: self._criteria,
            RECORDED: self._recorded,
            METRIC: self._metric,
            "zero-shot": self._prompted,
            "g-eval": self._prompted,
            CALIBRATED: self._frozen if name.argument else self._calibrated,
        }
        return (makers.get(name.method, self._baseline)(name),)

    def _baseline(self, name: JudgeName) -> Made:
        which = _BASELINE[name.method]

        def fit(items: Sequence[Item]) -> Judge:
            return self._method.baselines(items)[which].judge

        contender = self._method.baselines(self.known)[which]
        return Made(str(name), "baseline", contender.judge, contender.kind, contender.rubric, fit=fit)

    def _criteria(self, name: JudgeName) -> Made:
        return self._fitted(str(name), CRITERIA, self._fresh(self.known))

    def _fresh(self, items: Sequence[Item]) -> Rubric:
        assert self._method.fresh is not None
        return self._method.fresh(items)

    def _fitted(self, name: str, family: str, rubric: Rubric, notes: tuple[str, ...] = ()) -> Made:
        def fit(items: Sequence[Item]) -> Judge:
            return self._method.judge(self._fresh(items))

        return Made(name, family, self._method.judge(rubric), CRITERIA, rubric, fit=fit, notes=notes)

    def _recorded(self, name: JudgeName) -> Made:
        scale = self.prepared.aspect.scale
        on_scale = goes_by(scale, name.argument, self.known)
        judge = RecordedJudge(name.argument, scale if on_scale else None)
        off = () if on_scale else (f"{OFF_SCALE} {scale}",)
        notes = (*off, *self._odd(name.argument))
        empty = Rubric(self.prepared.aspect.ref, ())
        return Made(str(name), family_of(name.argument), judge, RECORDED, empty, on_scale=on_scale, notes=notes)

    def _metric(self, name: JudgeName) -> Made:
        judge = MetricJudge(name.argument)
        better = judge.asked.metric.better
        off = f"{OFF_SCALE} {self.prepared.aspect.scale}"
        notes = (off,) if better == "higher" else (off, f"by its definition {better} is better")
        empty = Rubric(self.prepared.aspect.ref, ())
        return Made(str(name), METRIC, judge, METRIC, empty, on_scale=False, notes=notes)

    def _odd(self, column: str) -> tuple[str, ...]:
        """Return what is odd of a recorded judge: that it has no scores, or that they are the ratings."""
        both = [(s, i.human) for i in self.known if (s := i.recorded.get(column)) is not None]
        if not both:
            return ("no item of train and dev has a score of it",)
        same = sum(score == human for score, human in both)
        if len(both) >= FEWEST and same >= SAME * len(both):
            return (f"its scores equal the humans' in {same} of {len(both)} items: one of the two is copied",)
        return ()

    def _prompted(self, name: JudgeName) -> Made | LeftOut:
        client = self.connections.client(name.model)
        aspect, roles = self.prepared.aspect, self.prepared.roles
        if name.method == "zero-shot":
            mode, temperature = asked_how(name, self.config.mode)
            return self._asking(name, client, Rubric(aspect.ref, ()), mode, temperature)
        mode, temperature, notes = self._g_eval_mode(name, client)
        rubric = g_eval_rubric(client, aspect, roles, self.config.draft_tokens)
        if isinstance(rubric, NoRubric):
            return LeftOut(str(name), "g-eval", f"{name.model} wrote no evaluation steps: {rubric.reason}")
        return self._asking(name, client, rubric, mode, temperature, notes)

    def _g_eval_mode(self, name: JudgeName, client: Client) -> tuple[ScoreMode, float, tuple[str, ...]]:
        """Return how a score is got: as the name says, else as published, by probabilities or from samples."""
        mode, temperature = asked_how(name, ExpectedMode())
        if not name.argument and not self._gives_logprobs(name.model, client):
            note = f"no log-probabilities of {name.model}: the mean of {PAPER_SAMPLES.n} samples instead"
            return PAPER_SAMPLES, 1.0, (note,)
        return mode, temperature, ()

    def _gives_logprobs(self, model: str, client: Client) -> bool:
        """Whether a model gives log-probabilities; a comparison that is taken up again does not ask that again."""
        run = Run(self.folder / f"g-eval-{_plain(model)}")
        run.folder.mkdir(parents=True, exist_ok=True)

        def ask() -> bool:
            try:
                client.require_logprobs(ExpectedMode.logprobs)
            except ModelUnfit:
                return False
            return True

        return bool(run.journal().once("log-probabilities", ask))

    def _asking(
        self,
        name: JudgeName,
        client: Client,
        rubric: Rubric,
        mode: ScoreMode,
        temperature: float,
        notes: tuple[str, ...] = (),
    ) -> Made:
        aspect = self.prepared.aspect
        prompt = score_prompt(aspect, in_words(rubric), self.prepared.roles)
        sampling = Sampling(temperature, self.config.max_tokens)
        judge = LLMJudge(client, prompt, aspect, sampling, self.progress.verdict, mode)
        return Made(str(name), name.method, judge, METHOD, rubric, model=name.model, notes=notes)

    def _calibrated(self, name: JudgeName) -> Made:
        method, rubrics, notes = self._searched(name.model)
        if not name.model:
            return self._fitted(str(name), CALIBRATED, rubrics[0], notes)
        judge = method.judge(rubrics[0])
        return Made(str(name), CALIBRATED, judge, METHOD, rubrics[0], model=name.model, seen=True, notes=notes)

    def _top(self, name: JudgeName) -> tuple[Made, ...]:
        """Return the judges by the best rubrics of a search, as they were chosen on dev."""
        method, rubrics, notes = self._searched(name.model)
        places = range(1, min(int(name.argument), len(rubrics) - 1) + 1)
        kind = METHOD if name.model else CRITERIA
        return tuple(
            Made(
                f"top:{k}{f'@{name.model}' if name.model else ''}",
                CALIBRATED,
                method.judge(rubrics[k]),
                kind,
                rubrics[k],
                model=name.model or None,
                seen=True,
                notes=notes,
            )
            for k in places
        )

    def _searched(self, model: str) -> tuple[Method, tuple[Rubric, ...], tuple[str, ...]]:
        """Return what a calibration comes to: the rubric it hands over, and behind it the best that it found."""
        if model not in self._chosen:
            config, method = self.config, self._method
            if model:
                config = config_with(self.config, model)
                roles, told = self.prepared.roles, self.progress.verdict
                method = with_model(config, self.prepared.aspect, roles, self.connections, told)
            run = Run(self.folder / f"calibrated-{_plain(model) or CRITERIA}")
            run.folder.mkdir(parents=True, exist_ok=True)
            choice, best = choose(self.prepared, config, method, run.journal(), self.progress)
            notes = () if not choice.fell_back else (f"it did not beat '{choice.over}' on dev",)
            rubrics = (choice.calibrated.rubric, *(c.rubric for c in best))
            self._chosen[model] = (method, rubrics, notes)
        return self._chosen[model]

    def _frozen(self, name: JudgeName) -> Made:
        path = find_frozen(name.argument)
        frozen = read_frozen(path)
        aspect, scored = self.prepared.aspect, frozen.aspect.aspect()
        if scored.scale != aspect.scale:
            problem = f"it scores {scored.ref} on {scored.scale}, and {aspect.ref} is on {aspect.scale}"
            raise ConfigError(f"--judges: {name}: {problem}")
        models = {name.model or asked.model for asked in frozen.asked}

        def client(said: str) -> Client:
            return self.connections.client(name.model or said)

        origin = frozen.origin
        return Made(
            str(name),
            "panel" if frozen.panel else CALIBRATED,
            frozen_judge(path, frozen, client, self.progress.verdict),
            frozen.judge.method,
            frozen.rubric(),
            model=", ".join(sorted(models)) or None,
            seen=True,
            notes=_seen(origin.data_digest, origin.test_digest, origin.data, self.prepared),
        )


def family_of(column: str) -> str:
    """Return the family of a recorded judge by the name of its column."""
    last = column.rpartition("/")[2].lower().replace("_", "-")
    if column.startswith("metric/"):
        return "metric"
    if last.startswith("zero-shot"):
        return "zero-shot"
    return "g-eval" if last.startswith(("g-eval", "geval")) else RECORDED


def _seen(data_digest: str, test_digest: str, data: str, prepared: Prepared) -> tuple[str, ...]:
    """Return a caution where a frozen judge may have been calibrated on items of this test side."""
    if test_digest == prepared.split.test.digest:
        return ()
    if data_digest == prepared.dataset.digest:
        return ("it was calibrated on another split of this data, and has seen items of this test side",)
    return (f"it was calibrated on {data}: whether it has seen items of this test side is not known",)


def config_with(config: RunConfig, model: str) -> RunConfig:
    """Return the configuration of a calibration with a model: what was said, and the defaults that suit a model."""
    return make_config(**{name: getattr(config, name) for name in config.model_fields_set} | {"model": model})


def _plain(model: str) -> str:
    """Return the name of a model as a folder's, no two models the same; "" for none."""
    return f"{re.sub(r'[^A-Za-z0-9]+', '-', model)[-60:]}-{digest(model)[:8]}" if model else ""
