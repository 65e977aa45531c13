"""What a server's prefix cache is worth: SmolLM2 in llama.cpp, asked with the rubric first and with the item first."""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass

from calibrator.judges.llm import SAMPLING, score_schema
from calibrator.models.base import ChatReply, ChatRequest, Sampling
from calibrator.models.names import open_model
from calibrator.prompts import Part, Prompt, item_texts
from calibrator.records import Message
from throughput_clients.common import text
from throughput_clients.ours import item, subject

MODEL = "local/smollm2"


@dataclass(frozen=True, slots=True)
class Order:
    """What one order of the prompt's parts came to. `rubric` is the prompt's tokens with no text in it."""

    name: str
    seconds: float
    rubric: int
    prompt: tuple[int, ...]
    cached: tuple[int, ...]

    def row(self) -> str:
        """Return the order as a row of the table."""
        count, later = len(self.prompt), self.cached[1:]
        share = sum(self.cached) / sum(self.prompt)
        reused = sum(min(1.0, c / self.rubric) for c in later) / max(1, len(later))
        rate = f"{count / self.seconds:.2f}"
        return f"| {self.name} | {count} | {rate} | {sum(self.prompt):,} | {share:.1%} | {self.rubric} | {reused:.1%} |"


def item_first(prompt: Prompt) -> Prompt:
    """Return the same prompt with the texts of the item before what is the same for all items."""
    slots = [k for k, part in enumerate(prompt.parts) if part.slot]
    head, texts, tail = prompt.parts[: slots[0]], prompt.parts[slots[0] : slots[-1] + 1], prompt.parts[slots[-1] + 1 :]
    return Prompt((*texts, Part("\n\n"), *head, *tail), prompt.role)


async def _replies(requests: Sequence[ChatRequest]) -> tuple[list[ChatReply], float, ChatReply]:
    """Return the replies of a server of their own to all but the last request, the seconds they took, and the last.

    The server is started by something quite different, so that the first item finds nothing of the rubric in store.
    """
    model = open_model(MODEL, 1)
    try:
        await model.complete(ChatRequest((Message("user", "Good morning."),), Sampling(max_tokens=1)))
        began = time.perf_counter()
        replies = [await model.complete(request) for request in requests[:-1]]
        seconds = time.perf_counter() - began
        return replies, seconds, await model.complete(requests[-1])
    finally:
        await model.close()


def measure(count: int, seed: int) -> list[Order]:
    """Judge the same texts in both orders."""
    aspect, ours = subject()
    schema = score_schema(aspect.scale)
    orders = []
    for name, prompt in (("rubric first (ours)", ours), ("item first", item_first(ours))):
        shown = [item_texts(item(text(k, seed))) for k in range(count)]
        requests = [
            ChatRequest(prompt.messages(texts), SAMPLING, schema=schema)
            for texts in [*shown, dict.fromkeys(shown[0], "")]
        ]
        replies, seconds, empty = asyncio.run(_replies(requests))
        usage = [reply.usage for reply in replies]
        prompt_tokens, cached = tuple(u.prompt for u in usage), tuple(u.cached for u in usage)
        orders.append(Order(name, seconds, empty.usage.prompt, prompt_tokens, cached))
    return orders


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    print("| order | items | judgments/s | prompt tokens | cached | rubric's tokens | of them cached, from item 2 on |")
    print("|---|---|---|---|---|---|---|")
    for order in measure(arguments.items, arguments.seed):
        print(order.row(), flush=True)


if __name__ == "__main__":
    main()
