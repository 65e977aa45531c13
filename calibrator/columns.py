"""Which column of a table is what: said by the user, or guessed by the usual names and then printed."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from calibrator.aspects import Aspect
from calibrator.errors import DataError
from calibrator.tables import Table

OUTPUT = (
    "predicted_counterspeech output response prediction reply completion answer summary system_output model_output "
    "generated_text generated generation candidate hypothesis hyp decoded counter_narrative story essay translation "
    "text"
).split()
# `source` stands last: beside a better name it is who wrote the text, not what the text answers.
SOURCE = (
    "hatespeech hate_speech input prompt user_prompt dialogue dialog conversation context document article question "
    "statement post instruction query source_text src premise history source"
).split()
REFERENCE = "counterspeech reference reference_output reference_text reference_summary gold ref references".split()
GROUP = ("group group_id source_id doc_id document_id prompt_id question_id story_id dialogue_id dialog_id").split()
SYSTEM = "system system_id system_name model model_name model_id generator source".split()
IDENTIFIER = "id item_id uuid example_id".split()
RATING = (
    "human.{} human_scores.{} human_ratings.{} human_{} {}_human human_score_{} {}_score {} {}_rating {}_mean score_{} "
    "rating_{} scores.{} ratings.{} {}_avg avg_{} mean_{}"
).split()
ANNOTATORS = "annotators.{} annotators_{} expert_annotations.{} annotations.{}".split()
OVERALL = "human_score human_rating human gold_score rating score human.score human.overall".split()


@dataclass(frozen=True, slots=True)
class Mapped:
    """The columns to read, by role; None or empty where there is none.

    `score` is a column with one rating or a mean; `annotators` are the columns with one rating for each annotator, or
    one column with lists of them. `inputs` maps the name of a further input to its column, `recorded` that of another
    judge to the column of its scores. `guessed` holds the roles that nobody named.
    """

    output: str
    source: str | None = None
    reference: str | None = None
    group: str | None = None
    system: str | None = None
    identifier: str | None = None
    score: str | None = None
    annotators: tuple[str, ...] = ()
    inputs: Mapping[str, str] = field(default_factory=dict)
    recorded: Mapping[str, str] = field(default_factory=dict)
    guessed: tuple[str, ...] = ()

    def described(self) -> str:
        """Return the mapping in one line, guesses marked."""
        parts = []
        for role in ("source", "output", "reference", "group", "system", "identifier", "score"):
            column = getattr(self, role)
            if column:
                name = "id" if role == "identifier" else role
                parts.append(f"{name}={column}{' (guessed)' if role in self.guessed else ''}")
        if self.annotators:
            parts.append(f"annotators={', '.join(self.annotators)}{' (guessed)' if 'score' in self.guessed else ''}")
        parts += [f"input {name}={column}" for name, column in self.inputs.items()]
        return "; ".join(parts)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the user said about the columns; "none" switches a guess off. `score` may name several annotators.

    `recorded` are the names of other judges whose scores stand in the table (see `recorded_column`).
    """

    output: str | None = None
    source: str | None = None
    reference: str | None = None
    group: str | None = None
    system: str | None = None
    identifier: str | None = None
    score: tuple[str, ...] = ()
    inputs: Mapping[str, str] = field(default_factory=dict)
    recorded: tuple[str, ...] = ()


def plain(name: str) -> str:
    """Return a column name as guesses compare it: lower case, words joined by underscores, `inputs.` cut off."""
    return re.sub(r"(?:[^\w.]|_)+", "_", name.lower()).strip("_").removeprefix("inputs.")


def map_columns(
    table: Table,
    wanted: Wanted,
    aspect: Aspect | None,
    fields: Mapping[str, str] = MappingProxyType({}),
    judged: str = "",
) -> Mapped:
    """Return the columns of `table` to read for `aspect` (None: no ratings are wanted).

    `fields` is what an aspect calls its texts, and `judged` the name of the aspect, both taken from `aspect` where
    there is one: texts are guessed by those names too, and the columns of recorded judges end in that of the aspect.

    Raises DataError, with the nearest names, if a column that was named or is needed is not there.
    """
    guess = _Guess(table, wanted)
    if aspect is not None:
        guess.score(aspect)
        fields, judged = aspect.fields, aspect.name
    output = guess.role("output", OUTPUT, fields)
    source = guess.role("source", SOURCE, fields)
    output = output or guess.last_input("output")
    source = source or guess.last_input("source", first=True)
    if output is None:
        raise DataError(
            f"no column looks like the rated text; name it with --output (columns: {_listed(table.columns)})",
            file=table.path,
        )
    return Mapped(
        output=output,
        source=source,
        reference=guess.role("reference", REFERENCE, fields),
        group=guess.role("group", GROUP),
        system=guess.role("system", SYSTEM),
        identifier=guess.role("identifier", IDENTIFIER),
        score=guess.score_column,
        annotators=guess.annotators,
        inputs=guess.further_inputs(),
        recorded={name: recorded_column(table, name, judged) for name in wanted.recorded},
        guessed=tuple(guess.guessed),
    )


class _Guess:
    """Takes columns one by one; a column that is taken is not taken again by a guess."""

    def __init__(self, table: Table, wanted: Wanted) -> None:
        self.table, self.wanted = table, wanted
        self.guessed: list[str] = []
        self.score_column: str | None = None
        self.annotators: tuple[str, ...] = ()
        named = [wanted.output, wanted.source, wanted.reference, wanted.group, wanted.system, wanted.identifier]
        self.taken = {find(table, n) for n in [*named, *wanted.inputs.values()] if n and n != "none"}

    def role(self, role: str, usual: Sequence[str], fields: Mapping[str, str] = MappingProxyType({})) -> str | None:
        """Return the column named for a role, else the first free one with a usual name or the aspect's name for it."""
        said: str | None = getattr(self.wanted, role)
        if said == "none":
            return None
        if said is not None:
            return find(self.table, said)
        return self._take(role, self._first_free([*usual, plain(fields.get(role, ""))]))

    def _first_free(self, names: Iterable[str]) -> str | None:
        free = {plain(c): c for c in reversed(self.table.columns) if c not in self.taken}
        return next((free[n] for n in names if n and n in free), None)

    def _take(self, role: str, column: str | None) -> str | None:
        if column is not None:
            self.taken.add(column)
            self.guessed.append(role)
        return column

    def last_input(self, role: str, first: bool = False) -> str | None:
        """Return the last (or first) free column below `inputs.`, which is where the rated text usually stands."""
        if getattr(self.wanted, role) == "none":
            return None
        free = [c for c in self.table.columns if c.startswith("inputs.") and c not in self.taken]
        return self._take(role, (free[0] if first else free[-1]) if free else None)

    def further_inputs(self) -> dict[str, str]:
        """Return the inputs the user named and whatever else stands below `inputs.`."""
        named = {name: find(self.table, column) for name, column in self.wanted.inputs.items()}
        rest = {c.removeprefix("inputs."): c for c in self.table.columns if c.startswith("inputs.")}
        return named | {n: c for n, c in rest.items() if c not in self.taken and c not in named.values()}

    def score(self, aspect: Aspect) -> None:
        """Find the rating or the annotators' ratings of an aspect."""
        if self.wanted.score:
            columns = tuple(find(self.table, c) for c in self.wanted.score)
            if len(columns) > 1 or _holds_lists(self.table, columns[0]):
                self.annotators = columns
            else:
                self.score_column = columns[0]
            self.taken.update(columns)
            return
        a = plain(aspect.name)
        self.annotators = _annotator_columns(self.table, a)
        usual = [pattern.format(a) for pattern in RATING]
        self.score_column = self._first_free(usual)
        if self.score_column is None and not self.annotators:
            self.score_column = self._first_free(OVERALL)
        if self.score_column is not None and _holds_lists(self.table, self.score_column):
            self.annotators = self.annotators or (self.score_column,)
            self.score_column = None
        self.taken.update(self.annotators, {self.score_column} if self.score_column else ())
        if self.score_column is None and not self.annotators:
            near = difflib.get_close_matches(f"{a}_score", self.table.columns, n=3, cutoff=0.4)
            hint = f"; nearest: {', '.join(near)}" if near else ""
            problem = f"no column looks like the rating of '{aspect.name}'; name it with --score{hint}"
            raise DataError(f"{problem} (columns: {_listed(self.table.columns)})", file=self.table.path)
        self.guessed.append("score")


def _annotator_columns(table: Table, aspect: str) -> tuple[str, ...]:
    """Columns like `annotators.relevance`, `relevance_score_a1`, `relevance_2`, `annotator3_relevance`."""
    lists = [c for c in table.columns if plain(c) in [pattern.format(aspect) for pattern in ANNOTATORS]]
    if lists:
        return (lists[0],)
    who = r"(?:a|ann|annot|annotator|rater|r|expert|judge)"
    aspect = re.escape(aspect)
    after = re.compile(rf"(?:human[_.])?{aspect}(?:_score|_rating)?[_.]{who}?_?\d+")
    before = re.compile(rf"{who}_?\d+[_.]{aspect}(?:_score|_rating)?")
    found = [c for c in table.columns if after.fullmatch(plain(c)) or before.fullmatch(plain(c))]
    return tuple(found)


def _holds_lists(table: Table, column: str) -> bool:
    first = next((r[column] for r in table.rows if r.get(column) not in (None, "")), None)
    return isinstance(first, list) or (isinstance(first, str) and first.strip().startswith("["))


def recorded_column(table: Table, name: str, judged: str) -> str:
    """Return the column of a recorded judge: `name`, `name/<aspect>`, `recorded.name.<aspect>` or `name_<aspect>`.

    `judged` is the name of the aspect. Raises DataError with the nearest names if there is none of these.
    """
    below = (judged, judged.replace("-", "_"))
    forms = [f for a in below for f in (f"{name}/{a}", f"recorded.{name}.{a}", f"{name}_{a}", f"{name}.{a}")]
    found = next((c for c in (*forms, name, f"recorded.{name}") if c in table.columns), None)
    if found is not None:
        return found
    known = recorded_names(table, judged)
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.3) or known[:5]
    hint = f"; nearest: {', '.join(near)}" if near else ""
    raise DataError(f"no column holds the scores of a judge '{name}' for {judged}{hint}", file=table.path, column=name)


def recorded_names(table: Table, judged: str) -> list[str]:
    """Return the judges whose scores for an aspect stand in the table, as `P/<aspect>` or `recorded.P.<aspect>`.

    Columns `metric/P` hold measures of no aspect, and count for every one.
    """
    below = {judged, judged.replace("-", "_")}
    found = []
    for column in table.columns:
        if column.startswith("metric/"):
            found.append(column)
        elif "/" in column and column.rpartition("/")[2] in below:
            found.append(column.rpartition("/")[0].removeprefix("recorded."))
        elif column.startswith("recorded.") and column.rpartition(".")[2] in below:
            found.append(column.removeprefix("recorded.").rpartition(".")[0])
    return list(dict.fromkeys(n for n in found if n))


def find(table: Table, name: str) -> str:
    """Return the column called `name`, also without its `inputs.` or in another case.

    Raises DataError with the nearest names if there is none.
    """
    if name in table.columns:
        return name
    alike = [c for c in table.columns if plain(name) and plain(c) == plain(name)]
    if len(alike) == 1:
        return alike[0]
    near = difflib.get_close_matches(name, table.columns, n=3, cutoff=0.3)
    hint = f"nearest: {', '.join(near)}" if near else f"columns: {_listed(table.columns)}"
    raise DataError(f"there is no such column; {hint}", file=table.path, column=name)


def _listed(columns: Sequence[str], most: int = 20) -> str:
    more = f" and {len(columns) - most} more" if len(columns) > most else ""
    return ", ".join(columns[:most]) + more
