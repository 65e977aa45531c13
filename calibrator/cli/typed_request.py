"""What `types` is asked for, and what can be seen to be wrong with it before anything is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from calibrator.errors import ConfigError
from calibrator.models.build import Access, check_price, make_access
from calibrator.models.names import check_arguments, check_ready
from calibrator.models.replies import cache_folder
from calibrator.studies.types.names import DEFAULT, USUAL, ClassifierName, parse_classifiers
from calibrator.studies.types.tfidf import OBJECTIVES
from calibrator.studies.types.transformer import checkpoint


@dataclass(frozen=True, slots=True)
class StudyRequest:
    """A study as it was asked for: `train` is learnt from, or else the `kept` classifier is held against `test`.

    `asking` are the options that say how models may be used.
    """

    train: Path | None
    test: Path | None
    classifiers: str | None = None
    kept: Path | None = None
    scheme: str | None = None
    none: bool = False
    text: str | None = None
    labels: str | None = None
    source: str | None = None
    encoding: str | None = None
    objective: str = OBJECTIVES[0]
    seed: int = 0
    resamples: int = 2000
    epochs: int | None = None
    device: str = "auto"
    download: bool = False
    asking: Mapping[str, Any] = field(default_factory=dict)

    @property
    def columns(self) -> dict[str, str | None]:
        """The columns that were named, and the encoding."""
        return {k: getattr(self, k) for k in ("text", "labels", "source", "encoding")}

    def names(self) -> tuple[ClassifierName, ...]:
        """Return the classifiers. Raises ConfigError for one that is none, or learns where nothing is to learn from."""
        names = parse_classifiers(self.classifiers or (USUAL if self.kept is None else DEFAULT))
        for name in names:
            if self.kept is not None and name.method in ("majority", "transformer"):
                problem = f"{name} learns from --train; beside a kept classifier name recorded:… or llm@…"
                raise ConfigError(f"--classifiers: {problem}")
        if self.kept is not None and DEFAULT not in map(str, names):
            raise ConfigError(f"--classifiers: the kept classifier is called {DEFAULT}; name it too")
        return names


def check(request: StudyRequest, names: tuple[ClassifierName, ...], *, keeps: bool) -> Access:
    """Return how models may be used. Raises ConfigError or ModelMissing for what is wrong or is not here."""
    if keeps and DEFAULT not in map(str, names):
        raise ConfigError("--save: it keeps the tfidf classifier; name it in --classifiers")
    if request.objective not in OBJECTIVES:
        raise ConfigError(f"--objective: '{request.objective}' is none; one of {', '.join(OBJECTIVES)}")
    if request.kept is not None and request.scheme is not None:
        raise ConfigError("--scheme: a kept classifier has the labels that it was fitted to; leave it out")
    access = _access(request, names)
    for name in names:
        if name.method == "transformer" and not request.download:
            checkpoint(name.argument)
    return access


def _access(request: StudyRequest, names: tuple[ClassifierName, ...]) -> Access:
    """Return how models may be used, having seen that those named are ready. Raises ConfigError or ModelMissing."""
    models = [n.argument for n in names if n.method == "llm"]
    given = {k: v for k, v in request.asking.items() if k not in ("cache", "max_tokens")}
    if request.asking and not models:
        raise ConfigError("no classifier asks a model; leave out what says how one is asked (--budget, …)")
    access = make_access(None if request.asking.get("cache") is False else cache_folder(), **given)
    check_arguments(models, access.arguments)
    for model in models:
        check_ready(model, access.arguments)
        check_price(model, access)
    return access
