"""From pairs of a source and what is asked to requests, and from replies to rows."""

from __future__ import annotations

from pathlib import Path

from calibrator.columns import Wanted, map_columns
from calibrator.generators.design import Asked
from calibrator.generators.generate import Draw, generate, make_tasks, rows_of, workload
from calibrator.generators.scheme import load_scheme
from calibrator.generators.sources import Source
from calibrator.generators.wording import Wording
from calibrator.journal import Journal
from calibrator.models.base import ChatReply, reply_to_json, request_key
from calibrator.models.client import Client, Portal
from calibrator.models.scripted import ScriptedModel
from calibrator.tables import Table

SCHEME = load_scheme(None, "controlled")
SOURCES = (Source("a", "Buses are late.", "They are not."), Source("b", "Trains are slow.", None, "rail"))


def test_requests_follow_from_the_source_the_sample_and_the_seed() -> None:
    tasks = make_tasks([(s, Asked()) for s in SOURCES], Wording(SCHEME, "zero-shot"), Draw(2, 0.5, 64, 10))
    drawn = [(t.source.id, t.sample, t.request.sample, t.request.sampling.seed) for t in tasks]
    assert drawn == [("a", 0, 0, 10), ("a", 1, 1, 11), ("b", 0, 0, 10), ("b", 1, 1, 11)]
    assert {(t.request.sampling.temperature, t.request.sampling.max_tokens) for t in tasks} == {(0.5, 64)}
    again = make_tasks([(Source("c", "Buses are late.", repeat=1), Asked())], Wording(SCHEME, "zero-shot"), Draw(2))
    assert [t.sample for t in again] == [2, 3]  # of the same source, behind the first two


def test_the_rows_have_the_columns_that_are_guessed() -> None:
    asked = [Asked(attributes=("factual", "tone-neutral")), Asked(attributes=("empathy",))]
    tasks = make_tasks(list(zip(SOURCES, asked, strict=True)), Wording(SCHEME, "controlled"), Draw())
    model = ScriptedModel(lambda r: "Some are." if "Buses" in r.messages[0].content else ChatReply("On", "length"))
    portal, heard = Portal(), []
    try:
        outcome = generate(tasks, SCHEME, "controlled", Client(model, portal, 1), heard.append)
    finally:
        portal.close()
    assert len(heard) == 2 and outcome.written == 1 and dict(outcome.failures) == {"the reply was cut off": 1}
    rows = rows_of(outcome, SCHEME)
    assert [(r["output"], r["failure"]) for r in rows] == [("Some are.", None), (None, "the reply was cut off")]
    wanted = [{k.removeprefix("required_"): v for k, v in r.items() if k.startswith("required_")} for r in rows]
    assert wanted[0] == {"factual": 1, "hypocrisy": 0, "empathy": 0, "denouncing": 0, "tone": "neutral"}
    assert wanted[1] == {"factual": 0, "hypocrisy": 0, "empathy": 1, "denouncing": 0, "tone": ""}
    assert rows[0]["system"] == "scripted/double controlled:factual+tone-neutral"
    assert rows_of(outcome, SCHEME, is_balanced=True)[1]["system"] == "scripted/double controlled:balanced"
    table = Table(Path("t.jsonl"), tuple(rows[0]), tuple(rows), tuple(rows), (1, 2))
    mapped = map_columns(table, Wanted(), None)
    assert (mapped.output, mapped.source, mapped.reference) == ("output", "source", "reference")
    assert (mapped.group, mapped.system, mapped.identifier) == ("group", "system", "id")


def test_replies_that_are_there_are_not_counted_as_calls(tmp_path: Path) -> None:
    tasks = make_tasks([(s, Asked()) for s in SOURCES], Wording(SCHEME, "zero-shot"), Draw())
    journal = Journal(tmp_path / "journal.jsonl")
    whole = workload(tasks, "m/x", journal)
    letters = sum(len(t.request.messages[0].content) for t in tasks)
    assert (whole.requests, whole.there, whole.prompt_tokens) == (2, 0, letters / 4)
    key = request_key("m/x", tasks[0].request)
    journal.put(f"reply/{key}", {"model": "m/x", "reply": reply_to_json(ChatReply("Fine."))})
    left = workload(tasks, "m/x", journal)
    assert (left.requests, left.there) == (2, 1)
    assert left.prompt_tokens == len(tasks[1].request.messages[0].content) / 4
    assert workload(tasks, "m/y", journal).there == 0
