"""What a run was asked to do; together with the replies it decides everything the run gives."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from calibrator import __version__
from calibrator.columns import Wanted
from calibrator.drafting.llm import MAX_TOKENS as DRAFT_TOKENS
from calibrator.errors import ConfigError
from calibrator.judges.llm import MAX_TOKENS
from calibrator.judges.modes import ScoreMode, TextMode, parse_mode
from calibrator.models.build import Access, make_access
from calibrator.models.names import anchored_name, check_arguments, check_name
from calibrator.validation import checked, first_fault, load_yaml

Objective = Literal["spearman", "kendall", "pearson", "mae"]
Protocol = Literal["default", "paper"]
Select = Literal["race", "full"]
ScoreMapKind = Literal["identity", "linear", "ordinal", "isotonic", "auto"]
OptimizerName = Literal["dspy-gepa", "dspy-mipro"]
SPELT = {"purpose": "for"}  # options that are called otherwise
CRITERIA = "criteria"
# How models are asked; these settings are for models only.
ACCESS = ("budget", "concurrency", "rpm", "tpm", "timeout", "price", "model_arg", "batch")
WITH_MODEL = {"trials": 4, "top_k": 3, "rounds": 2, "refinements": 4}


class ColumnNames(BaseModel):
    """The columns that the user named; see `columns.Wanted`."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    output: str | None = None
    source: str | None = None
    reference: str | None = None
    group: str | None = None
    system: str | None = None
    id: str | None = None
    score: tuple[str, ...] = ()
    inputs: dict[str, str] = {}
    recorded: tuple[str, ...] = ()

    @field_validator("score", "recorded", mode="before")
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value

    def over(self, known: Wanted) -> Wanted:
        """Return `known` with what the user named in place of it."""
        return Wanted(
            output=self.output or known.output,
            source=self.source or known.source,
            reference=self.reference or known.reference,
            group=self.group or known.group,
            system=self.system or known.system,
            identifier=self.id or known.identifier,
            score=self.score or known.score,
            inputs={**known.inputs, **self.inputs},
            recorded=self.recorded or known.recorded,
        )


class RunConfig(BaseModel):
    """The configuration of a run, as it stands in `runs/<id>/config.json`.

    `model` judges (None: the embedded judge), `drafter` writes the rubrics: a model, "criteria" or both by comma (None:
    whoever judges). `shots` up to 1 are fractions of the train side, above 1 numbers of exemplars (None: what suits the
    drafter); `trials` drafts are made of each size at temperatures drawn from `temperature` (low, high). The best
    `top_k` are refined `refinements` times each, in at most `rounds` rounds. `inputs` are digests of what the run
    depends on besides, filled in when it starts. `select` says whether candidates are raced or all scored on all of
    dev, `purpose` (`--for`) what the judge is for, `keep` that the rubric is handed over even where it does not beat
    the best baseline on dev, `map` what kind of score map it is given (see `stats.mapping`). `force` lets data pass in
    which the audit found grave faults. `score_mode` says how a score is got from replies (see `judges.modes`),
    `optimizer` searches for the rubric in place of our own search (see `calibration.optimizers`) within the judgments
    and proposals that ours would take at most, `model_arg` what a model of vllm-local/ or transformers/ is told. The
    rest of `ACCESS`, and `cache`, change what a run costs and how long it takes, and not what it finds.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    version: str = __version__
    aspect: str
    aspect_file: Path | None = None
    scale: str | None = None
    data: str = "demo"
    data_dir: Path | None = None
    encoding: str | None = None
    columns: ColumnNames = ColumnNames()
    test: str | None = None
    inputs: dict[str, str] = {}
    out: Path | None = None
    protocol: Protocol = "default"
    objective: Objective = "spearman"
    select: Select = "race"
    purpose: Literal["new-sources", "new-systems"] | None = None
    keep: bool = False
    map: ScoreMapKind = "identity"
    force: bool = False
    seed: int = Field(default=0, ge=0)
    model: str | None = None
    drafter: str | None = None
    optimizer: OptimizerName | None = None
    max_tokens: int = Field(default=MAX_TOKENS, ge=1)
    draft_tokens: int = Field(default=DRAFT_TOKENS, ge=1)
    score_mode: str = TextMode.name
    model_arg: dict[str, str] = {}
    budget: str | None = None
    concurrency: int | None = Field(default=None, ge=1)
    rpm: float | None = Field(default=None, gt=0)
    tpm: float | None = Field(default=None, gt=0)
    timeout: float | None = Field(default=None, gt=0)
    price: str | None = None
    batch: bool = False
    cache: bool = True
    shots: tuple[float, ...] | None = Field(default=None, min_length=1)
    trials: int = Field(default=8, ge=1)
    temperature: tuple[float, float] = (0.0, 0.5)
    top_k: int = Field(default=5, ge=1)
    rounds: int = Field(default=3, ge=0)
    refinements: int = Field(default=4, ge=1)
    resamples: int = Field(default=2000, ge=100)

    @field_validator("shots", mode="before")
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        return (value,) if isinstance(value, int | float) else value

    @field_validator("shots")
    @classmethod
    def _positive(cls, value: tuple[float, ...] | None) -> tuple[float, ...] | None:
        if value and not all(0 < s <= 1 or (math.isfinite(s) and s > 1 and s == int(s)) for s in value):
            raise ValueError("give fractions up to 1 or whole numbers of exemplars, e.g. 0.5,1 or 3,5,8")
        return value

    @model_validator(mode="before")
    @classmethod
    def _smaller_with_a_model(cls, settings: Any) -> Any:
        """A judgment of a model takes a second where one of the embedded judge takes a tenth of a millisecond."""
        return {**WITH_MODEL, **settings} if isinstance(settings, dict) and settings.get("model") else settings

    @property
    def drafters(self) -> tuple[str, ...]:
        """Who drafts: names of models, or "criteria"."""
        named = tuple(part.strip() for part in (self.drafter or "").split(",") if part.strip())
        return named or (self.model or CRITERIA,)

    @property
    def mode(self) -> ScoreMode:
        """How a score is got from replies."""
        return parse_mode(self.score_mode)

    def access(self, cache: Path | None) -> Access:
        """Return how models may be used; `cache` is the folder of stored replies. Raises ConfigError."""
        given = {name: getattr(self, name) for name in ACCESS}
        return make_access(cache if self.cache else None, **given)

    @field_validator("temperature")
    @classmethod
    def _ordered(cls, value: tuple[float, float]) -> tuple[float, float]:
        if not 0 <= value[0] <= value[1] <= 2:
            raise ValueError("give a range within 0 and 2, e.g. 0-0.5")
        return value


def make_config(**settings: Any) -> RunConfig:
    """Return the configuration. Raises ConfigError, which names the option, if a setting does not make sense."""
    if settings.get("aspect") is None:
        raise ConfigError("say what to judge: --aspect relevance (`calibrate aspects` lists those there are)")
    try:
        return RunConfig(**settings)
    except ValidationError as error:
        where, problem = first_fault(error)
        field = where.split(".")[0]
        raise ConfigError(f"--{SPELT.get(field, field).replace('_', '-')}: {problem}") from None


def check_models(config: RunConfig) -> None:
    """Raise ConfigError if judge and drafter do not go together, or one of them is named wrongly."""
    for name in (*((config.model,) if config.model else ()), *(d for d in config.drafters if d != CRITERIA)):
        check_name(name)
    _check_optimizer(config)
    if config.model is None:
        writers = [d for d in config.drafters if d != CRITERIA]
        if writers:
            problem = f"{writers[0]} writes free text, which the embedded judge cannot measure"
            raise ConfigError(f"--drafter: {problem}; name a model that judges too: --model {writers[0]}")
        for field in ("score_mode", *ACCESS):
            if getattr(config, field) != RunConfig.model_fields[field].get_default():
                option = f"--{field.replace('_', '-')}"
                raise ConfigError(f"{option}: the embedded judge asks no model; name one: --model openai/gpt-4o-mini")
    if config.model is None and config.protocol == "paper" and config.map != "identity":
        problem = "under the paper's protocol the embedded judge is fitted to the very items a map would be fitted to"
        raise ConfigError(f"--map: {problem}; leave one of the two out")
    check_arguments((config.model or "", *config.drafters), config.model_arg)
    if len(set(config.drafters)) < len(config.drafters):
        raise ConfigError(f"--drafter: '{config.drafter}' names one twice")
    if CRITERIA not in config.drafters and any(s <= 1 for s in config.shots or ()):
        raise ConfigError("--shots: a model is shown a number of exemplars, e.g. 3,5,8; fractions are for criteria")
    for name in (config.model or "", *config.drafters) if config.batch else ():
        if name != CRITERIA and not name.startswith("openai/"):
            raise ConfigError(f"--batch: {name or 'the embedded judge'} has no Batch API; it is for openai/<model>")
    _ = config.access(None), config.mode  # say what is wrong with them


def _check_optimizer(config: RunConfig) -> None:
    """Raise ConfigError if an optimizer of DSPy's does not go with the rest."""
    if config.optimizer is None:
        return
    if config.model is None:
        raise ConfigError("--optimizer: it betters what a model is told; name one: --model openai/gpt-4o-mini")
    if config.protocol == "paper":
        raise ConfigError("--optimizer: --protocol paper has a search of its own; leave one of them out")
    if CRITERIA in config.drafters or len(config.drafters) > 1:
        raise ConfigError(f"--optimizer: DSPy asks one model for instructions, not '{config.drafter}'")


def anchored(config: RunConfig) -> RunConfig:
    """Return the configuration with the paths of its inputs made absolute, so that a run resumes from any folder."""

    def whole(path: str | None) -> str | None:
        return str(Path(path).resolve()) if path is not None and Path(path).exists() else path

    folders = {k: v.resolve() if (v := getattr(config, k)) else None for k in ("aspect_file", "data_dir")}
    named = {
        "model": anchored_name(config.model) if config.model else None,
        "drafter": ",".join(map(anchored_name, config.drafters)) if config.drafter else None,
    }
    return config.model_copy(update={"data": whole(config.data), "test": whole(config.test), **folders, **named})


def read_settings(path: Path | None) -> dict[str, Any]:
    """Return the settings of a YAML file: the fields of `RunConfig`, `columns` among them.

    Without `path`, `calibrate.yaml` of the working folder if there is one. Raises ConfigError, which names file and
    entry, if it cannot be read or a setting does not make sense.
    """
    chosen = path or Path("calibrate.yaml")
    if path is None and not chosen.exists():
        return {}
    settings = load_yaml(chosen, ConfigError) or {}
    known = sorted(set(RunConfig.model_fields) - {"version", "inputs"})
    if not isinstance(settings, dict):
        raise ConfigError(f"{chosen}: not a list of settings like `aspect: relevance`")
    unknown = [str(s) for s in settings if s not in known]
    if unknown:
        raise ConfigError(f"{chosen}: {', '.join(unknown)}: not a setting; those there are: {', '.join(known)}")
    given = {k: v for k, v in settings.items() if v is not None}
    checked(RunConfig, {"aspect": "any"} | given, chosen, ConfigError)
    return given
