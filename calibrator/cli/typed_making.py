"""How the classifiers of a study are made: each when its turn comes, but for what may be missing, seen to first."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from calibrator.cli.typed_request import StudyRequest
from calibrator.models.build import Connections
from calibrator.studies.types.base import Classifier
from calibrator.studies.types.linear import LinearClassifier
from calibrator.studies.types.llm import SAMPLING, LLMClassifier
from calibrator.studies.types.majority import MajorityLearner
from calibrator.studies.types.names import ClassifierName
from calibrator.studies.types.reading_sides import Read
from calibrator.studies.types.recipe import HEAD, TEXT_TO_TEXT
from calibrator.studies.types.recorded import RecordedClassifier, recorded_column, recorded_file
from calibrator.studies.types.tfidf import TfidfLearner
from calibrator.studies.types.transformer import TransformerLearner, checkpoint

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Maker:
    """Makes the classifiers of a study; `ready` are those for which nothing has to be learnt, by their names."""

    request: StudyRequest
    read: Read
    tell: Tell
    ready: Mapping[ClassifierName, Classifier] = field(default_factory=dict)

    def making(self, name: ClassifierName, connections: Connections | None) -> Callable[[], Classifier]:
        """Return what makes a classifier; `connections` are for one that asks a model."""
        if name in self.ready:
            return lambda: self.ready[name]
        request, sides = self.request, self.read.sides
        if name.method == "tfidf":
            return lambda: TfidfLearner(seed=request.seed, objective=request.objective).fit(sides.train, sides.scheme)
        if name.method == "majority":
            return lambda: MajorityLearner("set" if name.argument else "label").fit(sides.train, sides.scheme)
        if name.method == "transformer":
            return partial(self._transformer, name.argument)
        if connections is None:
            raise ValueError(f"{name} asks a model, and there is none")
        sampling = replace(SAMPLING, max_tokens=most_tokens(request))
        return lambda: LLMClassifier(connections.client(name.argument), sides.scheme, sampling)

    def _transformer(self, model: str) -> Classifier:
        request, sides = self.request, self.read.sides
        learner = TransformerLearner(
            model, request.seed, request.device, request.download, lambda line: self.tell(f"{model}: {line}")
        )
        if request.epochs is not None:
            learner = replace(
                learner,
                head=replace(HEAD, epochs=request.epochs),
                text_to_text=replace(TEXT_TO_TEXT, epochs=request.epochs),
            )
        return learner.fit(sides.train, sides.scheme)


def make_maker(
    request: StudyRequest, read: Read, names: tuple[ClassifierName, ...], kept: LinearClassifier | None, tell: Tell
) -> Maker:
    """Return the maker, with what was recorded read and weights fetched: what fails there fails before the work.

    Raises DataError or ConfigError for a file of recorded labels that cannot be used, ModelMissing or ModelError for
    a checkpoint.
    """
    ready: dict[ClassifierName, Classifier] = {}
    for name in names:
        if name.method == "recorded":
            ready[name] = _recorded(name.argument, read)
        if name.method == "tfidf" and kept is not None:
            ready[name] = kept
    for name in names:
        if name.method == "transformer":
            checkpoint(name.argument, download=request.download, tell=tell)
    return Maker(request, read, tell, ready)


def most_tokens(request: StudyRequest) -> int:
    """Return how many tokens a reply may have."""
    return int(request.asking.get("max_tokens") or SAMPLING.max_tokens)


def _recorded(place: str, read: Read) -> RecordedClassifier:
    """Return the classifier of a column of the test side, or of a file."""
    table = read.test.table
    if place not in table.columns:
        return recorded_file(place, read.sides.test, read.sides.scheme)
    rows = {e.id: row for e, row in zip(read.test.examples, table.rows, strict=True)}
    return recorded_column(place, rows, read.sides.scheme, [row.get(place) for row in table.rows])
