"""Our own client for `throughput.py`: the whole way from a rubric and a text to a verdict.

    python -m throughput_clients.ours run URL --judgments 4000 --in-flight 256 --folder DIR [--core 0]
    python -m throughput_clients.ours texts FILE --judgments 4000

The second writes the prompts that the first sends, for other clients to send too.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from fast_server import pin

from calibrator.aspects import Aspect, find_aspect
from calibrator.journal import Journal
from calibrator.judges.llm import LLMJudge
from calibrator.models.build import Access, Connections
from calibrator.prompts import Prompt, item_texts, score_prompt
from calibrator.records import Item, Judgment, Verdict
from throughput_clients.common import STEPS, Measured, Text, measuring, text

ROLES = ("source", "output")


def subject() -> tuple[Aspect, Prompt]:
    """Return the aspect and the prompt that all texts are judged with."""
    aspect = find_aspect("neutral/relevance")[0]
    return aspect, score_prompt(aspect, STEPS, ROLES)


def item(of: Text) -> Item:
    return Item(id=str(of.number), output=of.output, source=of.source)


def right(texts: Sequence[Text], verdicts: Sequence[Verdict]) -> int:
    """Return how many verdicts are judgments with the score that the server gave for that text."""
    pairs = zip(texts, verdicts, strict=True)
    return sum(isinstance(v, Judgment) and v.item == str(t.number) and v.score == t.score for t, v in pairs)


def run(url: str, judgments: int, in_flight: int, folder: Path, journal: str, seed: int) -> Measured:
    """Judge so many texts, with the cache and a journal in a folder; one more is judged first, to warm up."""
    aspect, prompt = subject()
    texts = [text(k, seed) for k in range(judgments + 1)]
    items = [item(t) for t in texts]
    access = Access(width=in_flight, cache=folder / "cache")
    with Connections(access, journal=Journal(folder / journal)) as connections:
        judge = LLMJudge(connections.client(f"{url}#bench"), prompt, aspect)
        judge.judge(items[-1:])
        with measuring() as measured:
            verdicts = judge.judge(items[:-1])
    measured.judgments, measured.right = judgments, right(texts[:-1], verdicts)
    return measured


def write_texts(path: Path, count: int, seed: int) -> None:
    _, prompt = subject()
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            message = prompt.messages(item_texts(item(text(number, seed))))[0]
            file.write(json.dumps({"number": number, "prompt": message.content}) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", choices=["run", "texts"])
    parser.add_argument("where", help="the server's address, or the file to write")
    parser.add_argument("--judgments", type=int, required=True)
    parser.add_argument("--in-flight", type=int, default=16)
    parser.add_argument("--folder", type=Path, default=Path())
    parser.add_argument("--journal", default="journal.jsonl")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--core", type=int)
    arguments = parser.parse_args()
    pin(arguments.core)
    if arguments.work == "texts":
        write_texts(Path(arguments.where), arguments.judgments + 1, arguments.seed)
        return
    measured = run(
        arguments.where,
        arguments.judgments,
        arguments.in_flight,
        arguments.folder,
        arguments.journal,
        arguments.seed,
    )
    measured.tell()


if __name__ == "__main__":
    main()
