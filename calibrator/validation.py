"""YAML files checked against a model, and pydantic's findings in words for whoever wrote the file."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from calibrator.errors import CalibratorError

Model = TypeVar("Model", bound=BaseModel)
_PLAINER = (
    (r"^Value error, ", ""),
    (r"^Extra inputs are not permitted$", "there is no such entry"),
    (r"^Field required$", "is missing"),
    (r"^Input should be a valid dictionary or .*", "should be entries like `name: value`"),
    (r"^Input should be a valid tuple", "should be a list"),
    (r"^Input should be ", "should be "),
    (r"^String should match pattern .*", "may hold small letters, digits and hyphens only"),
    (r"^String should have at least 1 character$", "should not be empty"),
)


def first_fault(error: ValidationError) -> tuple[str, str]:
    """Return where the first fault is (entries joined by dots, "" for the whole) and what it is."""
    first = error.errors()[0]
    problem = first["msg"]
    for pattern, plainer in _PLAINER:
        problem = re.sub(pattern, plainer, problem)
    return ".".join(str(part) for part in first["loc"]), problem


def load_yaml(path: Path, fail: Callable[[str], CalibratorError], missing: str = "there is no such file") -> Any:
    """Return what stands in a YAML file. Raises `fail(message)`, which names the file, if it cannot be read."""
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise fail(f"{path}: {missing}") from None
    # PyYAML lets the ValueError of an impossible date pass, and nests as deep as the file does.
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise fail(f"{path}: not readable as YAML: {' '.join(str(error).split())}") from None


def checked(
    model: type[Model], value: Any, path: Path, fail: Callable[[str], CalibratorError], what: str = ""
) -> Model:
    """Return `value` as a model. Raises `fail(message)`, which names file and entry, if it does not fit."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        where, problem = first_fault(error)
        raise fail(f"{path}: {what}{where or 'the file'}: {problem}") from None
