"""What `types` does: read the sides, make the classifiers, show how far they are, and write down what came of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from calibrator.calibration.progress import Silent
from calibrator.errors import ConfigError
from calibrator.files import write_whole
from calibrator.judges.places import check_folder
from calibrator.models.build import Access, Connections, check_price, make_access
from calibrator.models.names import check_arguments, check_ready
from calibrator.models.prices import price_for
from calibrator.models.rate import LETTERS_A_TOKEN
from calibrator.models.recorded import Spent
from calibrator.models.replies import cache_folder
from calibrator.records import Failure, Usage
from calibrator.report.console import make_console, say, tell_aside
from calibrator.report.types import answers_csv, outcome_lines, show_types, types_markdown
from calibrator.studies.types.base import Classifier, Tick
from calibrator.studies.types.data import read_spelled
from calibrator.studies.types.linear import LinearClassifier, load, save
from calibrator.studies.types.llm import SAMPLING, LLMClassifier
from calibrator.studies.types.majority import MajorityLearner
from calibrator.studies.types.names import DEFAULT, ClassifierName, parse_classifiers, short_names
from calibrator.studies.types.prompting import list_prompt
from calibrator.studies.types.reading_sides import Read, read_sides
from calibrator.studies.types.recipe import HEAD, TEXT_TO_TEXT
from calibrator.studies.types.recorded import recorded_column, recorded_file
from calibrator.studies.types.result import TypesResult
from calibrator.studies.types.study import Candidate, answer_all, compare
from calibrator.studies.types.tfidf import OBJECTIVES, TfidfLearner
from calibrator.studies.types.transformer import TransformerLearner
from calibrator.tables import kind_of, write_table
from calibrator.texts import digest


@dataclass(frozen=True, slots=True)
class StudyRequest:
    """A study as it was asked for; `asking` are the options that say how models may be used."""

    train: Path
    test: Path | None
    classifiers: str
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


@dataclass(frozen=True, slots=True)
class PredictRequest:
    """Texts to be classified with a classifier that was kept."""

    file: Path
    model: Path
    out: Path | None
    text: str | None
    source: str | None
    encoding: str | None


def start_study(
    request: StudyRequest, out: Path | None, keep: Path | None, runs: Path, *, quiet: bool, as_json: bool
) -> None:
    """Compare the classifiers, write the files and print the tables. Ctrl-C exits with 130."""
    console = make_console(quiet or as_json)
    names = parse_classifiers(request.classifiers)
    if keep is not None and DEFAULT not in map(str, names):
        raise ConfigError("--save: it keeps the tfidf classifier; name it in --classifiers")
    if request.objective not in OBJECTIVES:
        raise ConfigError(f"--objective: '{request.objective}' is none; one of {', '.join(OBJECTIVES)}")
    if out is not None:
        check_folder(out)
    access = _access(request, names)
    wanted = {k: getattr(request, k) for k in ("text", "labels", "source", "encoding")}
    read = read_sides(request.train, request.test, wanted, request.scheme, none=request.none, seed=request.seed)
    for line in read.told:
        say(console, line)
    called = short_names(names)
    with _models(request, read, names, access, runs, console) as connections, _bar(console) as bar:
        making = [_making(name, request, read, connections, console) for name in names]
        candidates = [Candidate(name, make) for name, make in zip(called, making, strict=True)]
        answered = answer_all(read.sides, candidates, lambda name: _begin(bar, name, len(read.sides.test)))
        for model, spent in connections.spent.items() if connections is not None else ():
            say(console, f"model     {model}: {_told(spent)}")
    default = DEFAULT if DEFAULT in called else called[0]
    result = compare(read.sides, answered, default, request.seed, request.resamples)
    tell_aside(result.warnings)
    files = {
        "types.md": types_markdown(result),
        "types.json": result.model_dump_json(indent=1) + "\n",
        "answers.csv": answers_csv(read.sides, answered),
    }
    written = []
    if out is not None:
        for name, text in files.items():
            write_whole(out / name, text)
        written.append(f"written   {out}: {', '.join(files)}")
    for one in answered:
        if keep is not None and isinstance(one.classifier, LinearClassifier):
            save(one.classifier, keep)
            written.append(f"kept      {keep}: calibrate types --model {keep} --predict FILE")
    _show(console, result, files["types.json"], written, quiet=quiet, as_json=as_json)


def _show(
    console: Console, result: TypesResult, as_text: str, written: Sequence[str], *, quiet: bool, as_json: bool
) -> None:
    if as_json:
        print(as_text, end="")
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


def start_prediction(request: PredictRequest, *, quiet: bool) -> None:
    """Classify the texts of a file and write it with two columns more: the labels, and why there are none."""
    target = request.out or request.file.with_name(f"{request.file.stem}.types{request.file.suffix}")
    kind_of(target)
    if target.resolve() == request.file.resolve():
        raise ConfigError(f"--out: {target} is the file to be classified; give another name")
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
            replies = price.cost(Usage(0, len(texts) * _most_tokens(request)))
            cost = f"{price.cost(Usage(round(tokens))):.4g} US dollars for these, at most {replies:.4g} for replies"
        say(console, f"plan      {len(texts):,} calls of {model}, about {tokens:,.0f} prompt tokens; {cost}")
    label = digest([models, [p.text for p in prompt.parts], texts, request.asking.get("max_tokens")])[:10]
    with working_in(runs / f"types-{label}", access, Silent()) as (_, _, connections):
        yield connections


def _making(
    name: ClassifierName, request: StudyRequest, read: Read, connections: Connections | None, console: Console
) -> Callable[[], Classifier]:
    """Return what makes a classifier: it is made when its turn comes."""
    sides = read.sides
    if name.method == "tfidf":
        return lambda: TfidfLearner(seed=request.seed, objective=request.objective).fit(sides.train, sides.scheme)
    if name.method == "majority":
        return lambda: MajorityLearner("set" if name.argument else "label").fit(sides.train, sides.scheme)
    if name.method == "transformer":
        return partial(_transformer, name.argument, request, read, console)
    if name.method == "recorded":
        return partial(_recorded, name.argument, read)
    if connections is None:
        raise ValueError(f"{name} asks a model, and there is none")
    sampling = replace(SAMPLING, max_tokens=_most_tokens(request))
    return lambda: LLMClassifier(connections.client(name.argument), sides.scheme, sampling)


def _transformer(model: str, request: StudyRequest, read: Read, console: Console) -> Classifier:
    def tell(line: str) -> None:
        say(console, f"{model}: {line}")

    learner = TransformerLearner(model, request.seed, request.device, request.download, tell)
    if request.epochs is not None:
        learner = replace(
            learner,
            head=replace(HEAD, epochs=request.epochs),
            text_to_text=replace(TEXT_TO_TEXT, epochs=request.epochs),
        )
    return learner.fit(read.sides.train, read.sides.scheme)


def _recorded(place: str, read: Read) -> Classifier:
    """Return the classifier of a column of the test side, or of a file."""
    table = read.test.table
    if place not in table.columns:
        return recorded_file(place, read.sides.test, read.sides.scheme)
    rows = {e.id: row for e, row in zip(read.test.examples, table.rows, strict=True)}
    return recorded_column(place, rows, read.sides.scheme, [row.get(place) for row in table.rows])


def _most_tokens(request: StudyRequest) -> int:
    return int(request.asking.get("max_tokens") or SAMPLING.max_tokens)


def _bar(console: Console) -> Progress:
    columns = (TextColumn("{task.description}"), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def _begin(bar: Progress, name: str, total: int) -> Tick:
    """Show that a classifier's turn has come, and return what counts its answers."""
    task = bar.add_task(name, total=total)
    return lambda count: bar.update(task, advance=count)
