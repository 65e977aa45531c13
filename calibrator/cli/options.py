"""The options that several commands share, declared once."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from calibrator.errors import ConfigError

INTERRUPTED = 130  # exit code after Ctrl-C, as shells have it

Aspect = Annotated[
    str | None, typer.Option("--aspect", "-a", help="What to judge: a name, or suite/name; in `run` also all.")
]
AspectFile = Annotated[Path | None, typer.Option(help="An aspect of your own, a YAML file.", show_default=False)]
Scale = Annotated[str | None, typer.Option(help="Another scale than the aspect's: 1-10, 0..100.", show_default=False)]
Data = Annotated[
    str | None, typer.Option("--data", "-d", help="Rated texts: a CSV, JSONL or Parquet file, or a named set.")
]
Test = Annotated[str | None, typer.Option(help="A separate test file; else 30 % of the data are the test side.")]
DataDir = Annotated[
    Path | None, typer.Option(help="Folder of the named sets (or $CALIBRATOR_DATA).", show_default=False)
]
Encoding = Annotated[str | None, typer.Option(help="Of a text file; UTF-8 by default.", show_default=False)]
Config = Annotated[Path | None, typer.Option(help="Settings; calibrate.yaml if it is there.")]
Runs = Annotated[Path, typer.Option("--runs-dir", help="Where runs are kept.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Only the outcome.")]
Json = Annotated[bool, typer.Option("--json", help="The result as JSON on standard output, nothing else.")]

MODELS = "Models"
MaxTokens = Annotated[int | None, typer.Option(help="Most tokens of a judgment's reply.", rich_help_panel=MODELS)]
DraftTokens = Annotated[int | None, typer.Option(help="Most tokens of a drafter's reply.", rich_help_panel=MODELS)]
ScoreMode = Annotated[
    str | None,
    typer.Option(
        help="text (what the reply states), expected (weighted by log-probabilities) or sample:5 (mean of 5).",
        rich_help_panel=MODELS,
    ),
]
Budget = Annotated[
    str | None, typer.Option(help="Never lay out more: 2000calls, 100ktok or 5usd.", rich_help_panel=MODELS)
]
Concurrency = Annotated[
    int | None,
    typer.Option(help="Most requests in flight; else what the server bears (1 for local/).", rich_help_panel=MODELS),
]
Rpm = Annotated[float | None, typer.Option(help="Most requests a minute.", rich_help_panel=MODELS)]
Tpm = Annotated[float | None, typer.Option(help="Most tokens a minute.", rich_help_panel=MODELS)]
Timeout = Annotated[float | None, typer.Option(help="Seconds that a request may take; 600.", rich_help_panel=MODELS)]
Price = Annotated[
    str | None,
    typer.Option(help="US dollars a million tokens of prompt/reply: 0.15/0.60.", rich_help_panel=MODELS),
]
Batch = Annotated[
    bool | None,
    typer.Option("--batch", help="Ask openai/ models through the Batch API: half the price.", rich_help_panel=MODELS),
]
ModelArg = Annotated[
    list[str] | None,
    typer.Option(
        "--model-arg", help="For vllm-local/ and transformers/, key=value; may be repeated.", rich_help_panel=MODELS
    ),
]
Cache = Annotated[
    bool | None,
    typer.Option("--cache/--no-cache", help="Keep replies for other runs ($CALIBRATOR_CACHE).", rich_help_panel=MODELS),
]

_PANEL = "Columns (guessed from the usual names; 'none' switches a guess off)"
Source = Annotated[str | None, typer.Option(help="What the text answers or sums up.", rich_help_panel=_PANEL)]
Output = Annotated[str | None, typer.Option(help="The rated text.", rich_help_panel=_PANEL)]
Reference = Annotated[str | None, typer.Option(help="A reference text.", rich_help_panel=_PANEL)]
Group = Annotated[
    str | None,
    typer.Option(help="What must not stand on two sides of the split; the source by default.", rich_help_panel=_PANEL),
]
System = Annotated[str | None, typer.Option(help="What generated the text.", rich_help_panel=_PANEL)]
Identifier = Annotated[str | None, typer.Option("--id", help="A name for each row.", rich_help_panel=_PANEL)]
Score = Annotated[
    str | None,
    typer.Option(help="The human rating; several columns, by comma, for several annotators.", rich_help_panel=_PANEL),
]
Input = Annotated[
    list[str] | None,
    typer.Option("--input", help="A further input, name=column; may be repeated.", rich_help_panel=_PANEL),
]


def columns(
    source: str | None,
    output: str | None,
    reference: str | None,
    group: str | None,
    system: str | None,
    identifier: str | None,
    score: str | None,
    inputs: list[str] | None,
) -> dict[str, object]:
    """Return the columns that were named, as `config.ColumnNames` takes them."""
    named: dict[str, object] = {
        "source": source,
        "output": output,
        "reference": reference,
        "group": group,
        "system": system,
        "id": identifier,
        "score": tuple(c.strip() for c in score.split(",") if c.strip()) if score else None,
        "inputs": pairs("--input", inputs, "name=column") or None,
    }
    return {k: v for k, v in named.items() if v is not None}


def pairs(option: str, texts: list[str] | None, form: str) -> dict[str, str]:
    """Return what stands on the two sides of each `=`. Raises ConfigError, which names the option and the form."""
    found = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise ConfigError(f"{option}: '{text}' is not {form}")
        found[name] = value
    return found


def numbers(option: str, text: str | None) -> tuple[float, ...] | None:
    """Return the numbers in "0.5,0.75,1"; None for None. Raises ConfigError, which names the option."""
    if text is None:
        return None
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise ConfigError(f"{option}: '{text}' is not a list of numbers like 0.5,1 or 3,5,8") from None


def span(option: str, text: str | None) -> tuple[float, float] | None:
    """Return the ends of "0-0.5" (one number stands for both); None for None. Raises ConfigError."""
    if text is None:
        return None
    low, _, high = text.partition("-")
    try:
        return float(low), float(high or low)
    except ValueError:
        raise ConfigError(f"{option}: '{text}' is not a range like 0-0.5") from None


# Options that commands share whole; a command that is `taking` them gets a dict of what was said in `said`.
DATA: dict[str, Any] = {
    "aspect": Aspect,
    "data": Data,
    "data_dir": DataDir,
    "test": Test,
    "aspect_file": AspectFile,
    "scale": Scale,
    "encoding": Encoding,
}
COLUMNS: dict[str, Any] = {
    "source": Source,
    "output": Output,
    "reference": Reference,
    "group": Group,
    "system": System,
    "identifier": Identifier,
    "score": Score,
    "inputs": Input,
}
ASKING: dict[str, Any] = {
    "max_tokens": MaxTokens,
    "draft_tokens": DraftTokens,
    "score_mode": ScoreMode,
    "model_arg": ModelArg,
    "budget": Budget,
    "concurrency": Concurrency,
    "rpm": Rpm,
    "tpm": Tpm,
    "timeout": Timeout,
    "price": Price,
    "batch": Batch,
    "cache": Cache,
}


def taking(*groups: Mapping[str, Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that gives a command the options of some groups, all None unless said.

    The command takes them in one keyword argument, `said`: the settings of `config.RunConfig` that were given, the
    columns among them under "columns".
    """
    options = {name: kind for group in groups for name, kind in group.items()}

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(command, include_extras=True)
        own = [p for p in inspect.signature(command).parameters.values() if p.name != "said"]

        @functools.wraps(command)
        def wrapped(**given: Any) -> None:
            taken = {name: given.pop(name) for name in options}
            command(**given, said=_said(taken))

        more = [
            inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=k) for n, k in options.items()
        ]
        plain = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[p.name]) for p in own]
        wrapped.__signature__ = inspect.Signature([*plain, *more])  # type: ignore[attr-defined]
        wrapped.__annotations__ = {p.name: p.annotation for p in (*plain, *more)}
        return wrapped

    return decorate


def _said(taken: dict[str, Any]) -> dict[str, Any]:
    """Return the options of `DATA`, `COLUMNS` and `ASKING` that were given, as the settings of a run."""
    if "model_arg" in taken:
        taken["model_arg"] = pairs("--model-arg", taken["model_arg"], "key=value") or None
    if "aspect" in taken and taken["aspect"] is None and taken["aspect_file"] is not None:
        taken["aspect"] = taken["aspect_file"].stem
    named = columns(**{name: taken.pop(name) for name in COLUMNS if name in taken}) if "output" in taken else {}
    said = {name: value for name, value in taken.items() if value is not None}
    return said | ({"columns": named} if named else {})


def settled(said: Mapping[str, Any], config: Path | None) -> dict[str, Any]:
    """Return the settings of a file (`calibrate.yaml` if it is there) with what was said in place of them.

    Which file it is, is told on standard error. Raises ConfigError if it cannot be read or makes no sense.
    """
    from calibrator.calibration.config import read_settings

    stored = read_settings(config)
    if config is not None or Path("calibrate.yaml").exists():
        typer.echo(f"settings  {config or 'calibrate.yaml'}", err=True)
    return {**stored, **said, "columns": {**stored.get("columns", {}), **said.get("columns", {})}}
