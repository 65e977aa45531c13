"""What `types` does: read the sides, make the classifiers, show how far they are, and write down what came of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from calibrator.calibration.progress import Silent
from calibrator.cli.typed_making import make_maker, most_tokens
from calibrator.cli.typed_request import StudyRequest, check
from calibrator.files import write_whole
from calibrator.judges.places import check_folder
from calibrator.models.build import Access, Connections
from calibrator.models.prices import price_for
from calibrator.models.rate import LETTERS_A_TOKEN
from calibrator.models.recorded import Spent
from calibrator.records import Failure, Usage
from calibrator.report.console import make_console, say, tell_aside
from calibrator.report.types import answers_csv, outcome_lines, show_types, types_markdown
from calibrator.store import Ledger
from calibrator.studies.types.base import Tick
from calibrator.studies.types.linear import LinearClassifier, load, save
from calibrator.studies.types.names import DEFAULT, ClassifierName, short_names
from calibrator.studies.types.prompting import list_prompt
from calibrator.studies.types.reading_sides import Read, read_sides, read_test
from calibrator.studies.types.recorded import RecordedClassifier
from calibrator.studies.types.result import TypesResult
from calibrator.studies.types.study import Answered, Candidate, Sides, answer_all, compare
from calibrator.texts import digest


def start_study(
    request: StudyRequest, out: Path | None, keep: Path | None, runs: Path, *, quiet: bool, as_json: bool
) -> None:
    """Compare the classifiers, write the files and print the tables. Ctrl-C exits with 130.

    The look at the test side is entered in the ledger before any answer is held against its labels.
    """
    console = make_console(quiet or as_json)
    names = request.names()
    access = check(request, names, keeps=keep is not None)
    if out is not None:
        check_folder(out)
    Ledger(runs).check()
    kept = load(request.kept) if request.kept is not None else None
    read = _read(request, kept)
    for line in read.told:
        say(console, line)
    maker = make_maker(request, read, names, kept, lambda line: say(console, line))
    called = short_names(names)
    with _models(request, read, names, access, runs, console) as connections, _bar(console) as bar:
        making = [maker.making(name, connections) for name in names]
        candidates = [Candidate(name, make) for name, make in zip(called, making, strict=True)]
        answered = answer_all(read.sides, candidates, lambda name: _begin(bar, name, len(read.sides.test)))
        for model, spent in connections.spent.items() if connections is not None else ():
            say(console, f"model     {model}: {_told(spent)}")
    default = DEFAULT if DEFAULT in called else called[0]
    look = Ledger(runs).look(read.sides.test_digest, read.sides.digest, _looking(request, names, answered, read.sides))
    result = compare(read.sides, answered, default, request.seed, request.resamples)
    result = result.model_copy(update={"look": look})
    tell_aside(result.warnings)
    written = _written(result, answered, read.sides, out, keep)
    _show(console, result, written, quiet=quiet, as_json=as_json)


def _read(request: StudyRequest, kept: LinearClassifier | None) -> Read:
    if request.train is not None:
        columns, scheme = request.columns, request.scheme
        return read_sides(request.train, request.test, columns, scheme, none=request.none, seed=request.seed)
    if kept is None or request.test is None:
        raise ValueError("neither texts to learn from nor a kept classifier with a test side")
    return read_test(request.test, request.columns, kept.scheme, none=request.none)


def _looking(request: StudyRequest, names: Sequence[ClassifierName], answered: Sequence[Answered], sides: Sides) -> str:
    """Return a name that the same study of the same sides has again, and no other; recorded labels by what they are."""
    parts = []
    for name, one in zip(names, answered, strict=True):
        said = [a.reason if isinstance(a, Failure) else sorted(a.labels) for a in one.answers]
        parts.append(digest(said) if isinstance(one.classifier, RecordedClassifier) else str(name))
    labels = [[label.name, label.definition, *label.aliases] for label in sides.scheme.labels]
    asked = [request.objective, request.seed, request.epochs, most_tokens(request), request.asking.get("model_arg")]
    kept = digest(request.kept.read_text(encoding="utf-8")) if request.kept is not None else None
    return f"types-{digest([sorted(parts), labels, sides.scheme.empty, asked, kept, sides.digest])[:10]}"


def _written(
    result: TypesResult, answered: Sequence[Answered], sides: Sides, out: Path | None, keep: Path | None
) -> list[str]:
    """Write what was asked for, and return what was written, a line each."""
    told = []
    if out is not None:
        files = {
            "types.md": types_markdown(result),
            "types.json": _as_json(result),
            "answers.csv": answers_csv(sides, answered),
        }
        for name, text in files.items():
            write_whole(out / name, text)
        told.append(f"written   {out}: {', '.join(files)}")
    for one in answered:
        if keep is not None and isinstance(one.classifier, LinearClassifier):
            save(one.classifier, keep)
            told.append(f"kept      {keep}: calibrate types --model {keep} --predict FILE")
    return told


def _as_json(result: TypesResult) -> str:
    return result.model_dump_json(indent=1) + "\n"


def _show(console: Console, result: TypesResult, written: Sequence[str], *, quiet: bool, as_json: bool) -> None:
    if as_json:
        print(_as_json(result), end="")
    elif quiet:
        print(*outcome_lines(result), *written, sep="\n")
    else:
        show_types(console, result)
        say(console, "")
        for line in written:
            say(console, line)


def _told(spent: Spent) -> str:
    """Return what a model was used for, in words."""
    cost = "price not known" if spent.cost is None else f"{spent.cost:.4f} US dollars"
    return f"{spent.replies:,} replies, {spent.calls:,} calls made; {spent.prompt:,} prompt tokens, {cost}"


@contextmanager
def _models(
    request: StudyRequest,
    read: Read,
    names: tuple[ClassifierName, ...],
    access: Access,
    runs: Path,
    console: Console,
) -> Iterator[Connections | None]:
    """Give the connections to models, None where no classifier asks one; replies lie in a folder of runs."""
    models = [n.argument for n in names if n.method == "llm"]
    if not models:
        yield None
        return
    from calibrator.cli.comparing import working_in  # which brings all of a comparison with it

    texts = [e.text for e in read.sides.test]
    prompt = list_prompt(read.sides.scheme)
    letters = sum(map(len, texts)) + len(texts) * sum(len(p.text) for p in prompt.parts)
    for model in models:
        price, tokens = price_for(model, access.price), letters / LETTERS_A_TOKEN
        cost = "its price is not known (--price gives it)"
        if price is not None:
            replies = price.cost(Usage(0, len(texts) * most_tokens(request)))
            cost = f"{price.cost(Usage(round(tokens))):.4g} US dollars for these, at most {replies:.4g} for replies"
        say(console, f"plan      {len(texts):,} calls of {model}, about {tokens:,.0f} prompt tokens; {cost}")
    label = digest([models, [p.text for p in prompt.parts], texts, request.asking.get("max_tokens")])[:10]
    with working_in(runs / f"types-{label}", access, Silent()) as (_, _, connections):
        yield connections


def _bar(console: Console) -> Progress:
    columns = (TextColumn("{task.description}"), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def _begin(bar: Progress, name: str, total: int) -> Tick:
    """Show that a classifier's turn has come, and return what counts its answers."""
    task = bar.add_task(name, total=total)
    return lambda count: bar.update(task, advance=count)
