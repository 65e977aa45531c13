"""Generating from start to end, for `calibrate generate`: read, plan, ask, write, and say what came of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from calibrator.catalog import open_source
from calibrator.cli.generating_part import journal_of, looked_at, told_kept
from calibrator.cli.generating_request import AUTO, Request, check
from calibrator.cli.keeping import KEPT, told_spent
from calibrator.cli.options import INTERRUPTED
from calibrator.errors import BudgetSpent, ConfigError, DataError, ModelError, ModelUnfit
from calibrator.generators.design import Asked, asked_for, balanced, named_attributes, named_type
from calibrator.generators.examples import named_there, nearest, read_examples
from calibrator.generators.generate import Outcome, Task, Text, Workload, generate, make_tasks, rows_of, workload
from calibrator.generators.scheme import METHODS, Method, Scheme, load_scheme
from calibrator.generators.sources import Read, Source, chosen, read_sources
from calibrator.generators.wording import Example, Form, Wording
from calibrator.generators.writer import EXAMPLES, writer_of
from calibrator.journal import Journal
from calibrator.models.build import Access, Connections, make_access
from calibrator.models.prices import price_for
from calibrator.models.replies import cache_folder
from calibrator.models.wire import TOO_LONG
from calibrator.records import Usage
from calibrator.report.console import make_console, say, tell_aside
from calibrator.store import Run
from calibrator.tables import Table, write_table
from calibrator.texts import digest


@dataclass(frozen=True, slots=True)
class Prepared:
    """All that can be known before a model is asked."""

    method: Method
    scheme: Scheme
    wording: Wording
    read: Read
    work: tuple[tuple[Source, Asked], ...]
    sources: tuple[Source, ...]


def start(request: Request, *, dry_run: bool, quiet: bool, as_json: bool) -> None:
    """Generate, write the texts and print what came of it. Ctrl-C exits with 130.

    Until the file is written, replies lie in a folder beside it, from which the same command goes on.
    """
    console = make_console(quiet or as_json)
    access = _access(request.said)
    check(request, access, ready=not dry_run)
    prepared = _prepare(request, access, fetch=not dry_run)
    _tell(console, request, prepared)
    part = Run(request.out.with_name(f"{request.out.name}.part"))
    if dry_run:
        with looked_at(part, request.model, access, overwrite=request.overwrite) as journal:
            _planned(console, request, prepared, access, journal)
        return
    bar = _bar(console, quiet or as_json)
    try:
        writer = writer_of(request.model, access.arguments)
        with journal_of(part, writer, overwrite=request.overwrite) as journal:
            tasks = _planned(console, request, prepared, access, journal)
            count = _counting(bar, tasks)
            news = partial(say, console)
            with Connections(access, journal, tally=part.calls(), news=news) as connections, bar:
                client = connections.client(request.model)
                outcome = generate(tasks, prepared.scheme, prepared.method, client, count, writer.called)
                spent = connections.spent
            _write(request.out, rows_of(outcome, prepared.scheme, is_balanced=request.balanced))
    except KeyboardInterrupt:
        print(f"\nStopped{f'; {KEPT}' if part.folder.exists() else ''}.", file=sys.stderr)
        raise SystemExit(INTERRUPTED) from None
    except ModelUnfit:
        raise  # going on would not help
    except (BudgetSpent, ModelError) as error:
        error.args = (told_kept(part, error),)
        raise
    if as_json:
        print(json.dumps(_summary(request, prepared, outcome), ensure_ascii=False, indent=1))
    for name, sums in spent.items():
        say(console, f"model     {name}: {told_spent(sums)}")
    say(console, _came(request, outcome, prepared.wording.words))
    if not outcome.written:
        raise ModelError(f"not one text came: {_reasons(outcome)}; {request.out} has a row for each")


def _planned(
    console: Console, request: Request, prepared: Prepared, access: Access, journal: Journal
) -> tuple[Task, ...]:
    """Return what is to be asked, having told what it will take."""
    tasks = make_tasks(prepared.work, prepared.wording, request.draw, _shown(console, request, prepared, journal))
    say(console, f"plan      {_plan(request, workload(tasks, request.model, journal), access)}")
    return tasks


def _access(said: Mapping[str, Any]) -> Access:
    options = {name: value for name, value in said.items() if name != "cache"}
    return make_access(None if said.get("cache") is False else cache_folder(), **options)


def _prepare(request: Request, access: Access, *, fetch: bool) -> Prepared:
    method: Method = next(m for m in METHODS if m == request.method)
    scheme = load_scheme(request.scheme, method)
    by_row = request.balanced or request.required is not None
    asked = () if by_row else asked_for(scheme, method, request.types, request.attributes)
    origin = open_source(request.data, request.data_dir, request.encoding)
    if origin.table.path.resolve() == request.out.resolve():
        raise ConfigError(f"--out: {request.out} is the file to be answered; give another name")
    wanted = replace(origin.wanted, **request.named)
    read = read_sources(origin.table, wanted, required=request.required, each_row=request.each_row)
    sources = chosen(read.sources, request.limit, request.draw.seed)
    required = partial(_required, scheme, method, read, origin.table.path)
    if request.balanced:
        work = list(zip(sources, balanced(scheme, request.attributes, len(sources), request.draw.seed), strict=True))
    else:
        work = [(source, one) for source in sources for one in asked or required(source)]
    words = scheme.words if request.words is None else request.words or None
    wording = Wording(scheme, method, _form(request, access, fetch=fetch), words)
    return Prepared(method, scheme, wording, read, tuple(work), sources)


def _required(scheme: Scheme, method: Method, read: Read, path: Path, source: Source) -> tuple[Asked, ...]:
    """Return what the row of a source asks for: a text for each of its types, or one with all of its attributes.

    Raises DataError, which names the row, for a cell that says neither.
    """
    try:
        if method == "typed":
            return tuple(Asked(type=t) for t in dict.fromkeys(named_type(scheme, said) for said in source.required))
        return (Asked(attributes=named_attributes(scheme, source.required)),)
    except ConfigError as error:
        raise DataError(str(error), file=path, row=source.row, column=read.columns["required"]) from None


def _form(request: Request, access: Access, *, fetch: bool) -> Form:
    """Return the form of prompts; weights that it depends on are fetched before, where both that and `fetch` say so."""
    if request.form != AUTO:
        return "chat" if request.form == "chat" else "plain"
    if not request.model.startswith("transformers/"):
        return "chat"
    from calibrator.models.transformers_loading import is_chat

    return "chat" if is_chat(request.model, access.arguments, fetch=fetch) else "plain"


def _shown(console: Console, request: Request, prepared: Prepared, journal: Journal) -> dict[str, list[Example]]:
    """Return the examples for each source, by its id; the choice is kept, so that it is the same when going on."""
    if request.examples is None:
        return {}
    origin = open_source(request.examples, request.data_dir, request.encoding)
    pool = read_examples(origin.table, named_there(origin.table, origin.wanted, request.named), request.answers)
    examples = pool.examples
    say(console, f"examples  the {request.shots} nearest of {len(examples):,} in {origin.name}")
    say(console, f"examples  columns {pool.told()}")

    def choose() -> list[list[int]]:
        from calibrator.metrics.base import Settings
        from calibrator.metrics.embeddings import sentence_encoder

        settings = Settings(model=request.embedder, download=request.download, tell=lambda line: tell_aside([line]))
        return nearest(prepared.sources, pool, request.shots, sentence_encoder(settings))

    told = [[e.source, e.output, e.group] for e in examples]
    groups = {key: sorted(names) for key, names in pool.groups.items()}
    asked = [[s.text, s.group, sorted(s.groups)] for s in prepared.sources]
    key = digest([asked, told, groups, request.shots, request.embedder])
    places: list[list[int]] = journal.once(f"{EXAMPLES}{key}", choose)
    return {s.id: [examples[k] for k in near] for s, near in zip(prepared.sources, places, strict=True)}


def _tell(console: Console, request: Request, prepared: Prepared) -> None:
    """Print what will be asked of which rows."""
    say(console, f"scheme    {prepared.scheme.name}: {prepared.scheme.about or prepared.scheme.output}")
    say(console, f"columns   {prepared.read.told()}")
    drawn = f", drawn with seed {request.draw.seed}" if len(prepared.sources) < len(prepared.read.sources) else ""
    say(console, f"sources   {len(prepared.sources):,} of {len(prepared.read.sources):,}{drawn}")
    for line in prepared.read.left_out:
        say(console, f"note      {line}")
    if request.draw.samples > 1 and request.draw.temperature == 0:
        tell_aside(["at temperature 0 all samples of a source will be the same, or nearly so"])


def _plan(request: Request, takes: Workload, access: Access) -> str:
    """Return in a line what is asked for, and what that will take at most."""
    left = takes.requests - takes.there
    there = f" ({takes.there:,} replies are there already)" if takes.there else ""
    calls = f"{takes.requests:,} texts, up to {left:,} calls{there}"
    tokens = f"about {takes.prompt_tokens:,.0f} prompt tokens, at most {left * request.draw.max_tokens:,} for replies"
    price = price_for(request.model, access.price)
    if price is None:
        return f"{calls}, {tokens}; the price of {request.model} is not known (--price gives it)"
    price = price.halved() if access.batch else price
    most = price.cost(Usage(round(takes.prompt_tokens), left * request.draw.max_tokens))
    return f"{calls}, {tokens}; at most {most:.4g} US dollars"


def _bar(console: Console, hidden: bool) -> Progress:
    columns = (TextColumn("writing"), MofNCompleteColumn(), TextColumn("{task.fields[failures]} failures"))
    hidden = hidden or not console.is_terminal
    return Progress(*columns, TimeRemainingColumn(), console=console, transient=True, disable=hidden)


def _counting(bar: Progress, tasks: Sequence[Task]) -> Any:
    task = bar.add_task("writing", total=len(tasks), failures=0)

    def count(text: Text) -> None:
        failures = bar.tasks[0].fields["failures"] + (text.failure is not None)
        bar.update(task, advance=1, failures=failures)

    return count


def _write(out: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write the rows in the format that the ending stands for."""
    whole = tuple(dict(row) for row in rows)
    # The path tells what the rows came from, which is no file.
    write_table(out, Table(Path("rows.jsonl"), tuple(rows[0]), whole, whole, tuple(range(1, len(rows) + 1))), {})


def _came(request: Request, outcome: Outcome, words: int | None) -> str:
    """Return what came of the work, in a few lines."""
    reasons = _reasons(outcome)
    failed = sum(outcome.failures.values())
    lines = [f"{outcome.written} texts, {failed} failures{f' ({reasons})' if reasons else ''} in {request.out}"]
    if any(TOO_LONG in reason for reason in outcome.failures):
        room = f"--max-tokens {request.draw.max_tokens}"
        lines.insert(0, f"note      {room} is room for the reply, and counts; less of it leaves more for the prompt")
    if long := sum(len((t.output or "").split()) >= words for t in outcome.texts) if words else 0:
        lines.insert(0, f"note      {long} texts have {words} words or more")
    return "\n".join(lines)


def _reasons(outcome: Outcome) -> str:
    return "; ".join(f"{n} × {reason}" for reason, n in outcome.failures.items())


def _summary(request: Request, prepared: Prepared, outcome: Outcome) -> dict[str, Any]:
    return {
        "out": str(request.out),
        "model": outcome.model,
        "method": outcome.method,
        "scheme": prepared.scheme.name,
        "words": prepared.wording.words,
        "sources": len(prepared.sources),
        "samples": request.draw.samples,
        "temperature": request.draw.temperature,
        "max_tokens": request.draw.max_tokens,
        "seed": request.draw.seed,
        "texts": outcome.written,
        "failures": dict(outcome.failures),
    }
