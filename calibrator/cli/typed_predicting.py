"""What `types --predict` does: classify the texts of a file with a classifier that was kept."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from calibrator.errors import ConfigError
from calibrator.records import Failure
from calibrator.report.console import make_console, say
from calibrator.studies.types.data import read_spelled
from calibrator.studies.types.linear import load
from calibrator.tables import kind_of, write_table


@dataclass(frozen=True, slots=True)
class PredictRequest:
    """Texts to be classified with a classifier that was kept."""

    file: Path
    model: Path
    out: Path | None
    text: str | None
    source: str | None
    encoding: str | None
    overwrite: bool = False


def start_prediction(request: PredictRequest, *, quiet: bool) -> None:
    """Classify the texts of a file and write it with two columns more: the labels, and why there are none."""
    target = _target(request)
    classifier = load(request.model)
    data = read_spelled(request.file, request.text, None, request.source, encoding=request.encoding, wants_labels=False)
    for name in ("predicted_types", "predicted_types_failure"):
        if name in data.table.columns:
            raise ConfigError(f"{request.file} has a column '{name}' already; rename it")
    answers = classifier.predict(data.examples)
    failed = [a.reason if isinstance(a, Failure) else None for a in answers]
    given = [None if isinstance(a, Failure) else [n for n in classifier.scheme.names if n in a.labels] for a in answers]
    write_table(target, data.table, {"predicted_types": given, "predicted_types_failure": failed})
    console, failures = make_console(quiet), len(failed) - failed.count(None)
    say(console, f"columns   {data.columns.described()}")
    print(f"{len(answers) - failures} texts classified, {failures} failures in column 'predicted_types' of {target}")


def _target(request: PredictRequest) -> Path:
    """Return the file to be written. Raises ConfigError if it is the one that is read, or is there already."""
    target = request.out or request.file.with_name(f"{request.file.stem}.types{request.file.suffix}")
    kind_of(target)
    if target.resolve() == request.file.resolve():
        raise ConfigError(f"--out: {target} is the file to be classified; give another name")
    if target.exists() and (target.is_dir() or not request.overwrite):
        raise ConfigError(f"--out: {target} is there already; name another file, or say --overwrite")
    return target
