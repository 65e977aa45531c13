"""What was said to `calibrate generate`, and whether it makes sense."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from calibrator.errors import ConfigError
from calibrator.generators.design import ALL
from calibrator.generators.generate import Draw
from calibrator.generators.scheme import METHODS
from calibrator.generators.wording import FORMED, Form
from calibrator.models.build import Access, check_price
from calibrator.models.names import check_arguments, check_name, check_ready
from calibrator.tables import kind_of

AUTO = "auto"  # the form that suits the model


@dataclass(frozen=True, slots=True)
class Request:
    """What was said on the command line. `said` is how models may be used, `columns` the columns that were named."""

    data: str
    model: str
    out: Path
    method: str
    scheme: str | None
    types: str
    attributes: str
    balanced: bool
    required: str | None
    words: int | None
    form: str
    examples: str | None
    answers: str | None
    shots: int
    embedder: str
    download: bool
    draw: Draw
    limit: int | None
    each_row: bool
    columns: Mapping[str, str | None]
    encoding: str | None
    data_dir: Path | None
    overwrite: bool
    said: Mapping[str, Any]

    @property
    def named(self) -> dict[str, Any]:
        """The columns that were named, by role."""
        return {role: column for role, column in self.columns.items() if column is not None}


def check(request: Request, access: Access, *, ready: bool) -> None:
    """Raise ConfigError, DataError or ModelMissing for what can be seen to be wrong before anything is read.

    Unless `ready`, the model need not be one that can be asked now.
    """
    kind_of(request.out)
    if request.method not in METHODS:
        raise ConfigError(f"--method: '{request.method}' is none of {', '.join(METHODS)}")
    if request.form not in (AUTO, *get_args(Form)):
        raise ConfigError(f"--form: '{request.form}' is none of {AUTO}, {', '.join(get_args(Form))}")
    _check_numbers(request)
    _check_together(request)
    if request.out.is_dir():
        raise ConfigError(f"--out: {request.out} is a folder; name a file")
    if request.out.exists() and not request.overwrite:
        raise ConfigError(f"--out: {request.out} is there already; name another file, or say --overwrite")
    check_name(request.model)
    check_arguments([request.model], access.arguments)
    if ready:
        check_ready(request.model, access.arguments)
    check_price(request.model, access)


def _check_numbers(request: Request) -> None:
    draw = request.draw
    for option, number in (("--samples", draw.samples), ("--max-tokens", draw.max_tokens)):
        if number < 1:
            raise ConfigError(f"{option}: {number} is no number above 0")
    if not (math.isfinite(draw.temperature) and 0 <= draw.temperature <= 2):
        raise ConfigError(f"--temperature: {draw.temperature:g} is not between 0 and 2")
    if request.words is not None and request.words < 0:
        raise ConfigError(f"--words: {request.words} is no number of words")


def _check_together(request: Request) -> None:
    """Raise ConfigError for options that the method does not know, or that contradict each other."""
    for name, method in (("types", "typed"), ("attributes", "controlled")):
        if getattr(request, name) != ALL and request.method != method:
            raise ConfigError(f"--{name} is for --method {method}, not {request.method}")
    if request.form != AUTO and request.method not in FORMED:
        raise ConfigError(f"--form is for --method {' or '.join(FORMED)}, not {request.method}, which has one form")
    if request.balanced and request.method != "controlled":
        raise ConfigError(f"--balanced is for --method controlled, not {request.method}")
    if request.required is not None and (request.balanced or request.method not in ("typed", "controlled")):
        raise ConfigError("--required is for --method typed or controlled, and not with --balanced")
    if (request.examples is None) != (request.method != "few-shot"):
        raise ConfigError("--examples are for --method few-shot, which needs them: a file or a named set")
