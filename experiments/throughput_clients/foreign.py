"""The clients of others for `throughput.py`. Needs the standard library and the one package that is asked for.

    python -m throughput_clients.foreign CLIENT URL --texts FILE --judgments 4000 --in-flight 256 [--core 0]

The file has a JSON line for each text: its number and the prompt that ours would send. Clients that take a prompt send
that one; DSPy and G-Eval make theirs from the same text and the same steps.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import importlib
import importlib.util
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fast_server import pin

from throughput_clients.common import STEPS, Measured, Text, measuring, text

MODEL, KEY, MOST_TOKENS = "bench", "none", 256


@dataclass(frozen=True, slots=True)
class Case:
    """A text with the prompt to judge it by."""

    text: Text
    prompt: str


Ask = Callable[[Case], Awaitable[float]]


def package(name: str) -> Any:
    """Import a package that need not be installed where this file is checked."""
    return importlib.import_module(name)


def body(case: Case) -> dict[str, Any]:
    """Return what is asked for a case, as all OpenAI-like clients take it."""
    messages = [{"role": "user", "content": case.prompt}]
    return {"model": MODEL, "messages": messages, "temperature": 0.0, "max_tokens": MOST_TOKENS}


def stated(reply: str) -> float:
    return float(json.loads(reply)["score"])


@contextlib.asynccontextmanager
async def bare(url: str, in_flight: int, cases: Sequence[Case]) -> AsyncIterator[Ask]:
    """Send bodies that are ready with aiohttp, and nothing else."""
    aiohttp = package("aiohttp")
    bodies = {case.text.number: json.dumps(body(case)).encode() for case in cases}
    headers = {"Content-Type": "application/json"}
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), headers=headers) as session:

        async def ask(case: Case) -> float:
            async with session.post(f"{url}/chat/completions", data=bodies[case.text.number]) as response:
                raw = await response.read()
            return stated(json.loads(raw)["choices"][0]["message"]["content"])

        yield ask


@contextlib.asynccontextmanager
async def openai(url: str, transport: Any = None) -> AsyncIterator[Ask]:
    """Ask through OpenAI's SDK; `transport` is a client for it, None its own."""
    client = package("openai").AsyncOpenAI(base_url=url, api_key=KEY, max_retries=0, http_client=transport)
    async with client:

        async def ask(case: Case) -> float:
            reply = await client.chat.completions.create(**body(case))
            return stated(reply.choices[0].message.content)

        yield ask


def openai_default(url: str, in_flight: int, cases: Sequence[Case]) -> AbstractAsyncContextManager[Ask]:
    return openai(url)


def openai_aiohttp(url: str, in_flight: int, cases: Sequence[Case]) -> AbstractAsyncContextManager[Ask]:
    return openai(url, package("openai").DefaultAioHttpClient())


@contextlib.asynccontextmanager
async def litellm(url: str, in_flight: int, cases: Sequence[Case]) -> AsyncIterator[Ask]:
    module = package("litellm")

    async def ask(case: Case) -> float:
        asked = {**body(case), "model": f"openai/{MODEL}"}
        reply = await module.acompletion(**asked, api_base=url, api_key=KEY, num_retries=0)
        return stated(reply.choices[0].message.content)

    yield ask


@contextlib.asynccontextmanager
async def inspect_ai(url: str, in_flight: int, cases: Sequence[Case]) -> AsyncIterator[Ask]:
    module = package("inspect_ai.model")
    config = module.GenerateConfig(temperature=0.0, max_tokens=MOST_TOKENS, max_connections=in_flight, max_retries=0)
    model = module.get_model(f"openai-api/bench/{MODEL}", base_url=url, api_key=KEY, config=config)

    async def ask(case: Case) -> float:
        return stated((await model.generate(case.prompt)).completion)

    yield ask


@contextlib.asynccontextmanager
async def deepeval(url: str, in_flight: int, cases: Sequence[Case]) -> AsyncIterator[Ask]:
    """Measure with G-Eval, the steps given, so that there is one request for each text."""
    models, metrics, tests = (package(f"deepeval.{part}") for part in ("models", "metrics", "test_case"))
    model = models.LocalModel(model=MODEL, base_url=url.replace("/v1", "/reason/v1"), api_key=KEY, temperature=0.0)
    shown = [tests.SingleTurnParams.INPUT, tests.SingleTurnParams.ACTUAL_OUTPUT]

    async def ask(case: Case) -> float:
        metric = metrics.GEval("Relevance", shown, evaluation_steps=list(STEPS), model=model, async_mode=True)
        test = tests.LLMTestCase(input=case.text.source, actual_output=case.text.output)
        return 10 * float(await metric.a_measure(test, _show_indicator=False))

    yield ask


Opened = Callable[[str, int, Sequence[Case]], AbstractAsyncContextManager[Ask]]


async def measured_by(opened: Opened, url: str, in_flight: int, cases: Sequence[Case]) -> Measured:
    """Ask for all cases but the last, so many at a time; the last is asked first, to warm up."""
    scores: dict[int, float] = {}
    waiting = iter(cases[:-1])
    async with opened(url, in_flight, cases) as ask:

        async def work() -> None:
            for case in waiting:
                scores[case.text.number] = await ask(case)

        await ask(cases[-1])
        with measuring() as measured:
            await asyncio.gather(*(work() for _ in range(in_flight)))
    measured.judgments = len(scores)
    measured.right = sum(abs(scores[case.text.number] - case.text.score) < 1e-6 for case in cases[:-1])
    return measured


def by_dspy(url: str, in_flight: int, cases: Sequence[Case]) -> Measured:
    """Evaluate a `Predict` with threads, as users of DSPy judge. JSON, since its own form would cost a second call."""
    dspy = package("dspy")
    lm = dspy.LM(
        f"openai/{MODEL}",
        api_base=url,
        api_key=KEY,
        cache=False,
        num_retries=0,
        temperature=0.0,
        max_tokens=MOST_TOKENS,
    )
    dspy.configure(lm=lm, adapter=dspy.JSONAdapter())
    judge = dspy.Predict(dspy.Signature("source, output -> score: int", "\n".join(STEPS)))
    examples = [
        dspy.Example(source=c.text.source, output=c.text.output, score=c.text.score).with_inputs("source", "output")
        for c in cases
    ]
    judge(**examples[-1].inputs())
    evaluate = dspy.Evaluate(
        devset=examples[:-1],
        metric=lambda example, prediction, trace=None: prediction.score == example.score,
        num_threads=in_flight,
        display_progress=False,
    )
    with measuring() as measured:
        outcome = evaluate(judge)
    measured.judgments = len(outcome.results)
    measured.right = sum(bool(score) for _, _, score in outcome.results)
    return measured


CLIENTS: dict[str, Opened] = {
    "aiohttp": bare,
    "openai": openai_default,
    "openai-aiohttp": openai_aiohttp,
    "litellm": litellm,
    "inspect": inspect_ai,
    "deepeval": deepeval,
}
NAMES = {
    "aiohttp": "bare aiohttp",
    "openai": "openai SDK, default transport,",
    "openai-aiohttp": "openai SDK, aiohttp transport,",
    "litellm": "litellm.acompletion",
    "inspect": "inspect_ai",
    "dspy": "dspy.Evaluate",
    "deepeval": "DeepEval's G-Eval",
}
NEEDS = {  # what must be importable, and what provides it
    "aiohttp": ("aiohttp", "aiohttp"),
    "openai": ("openai", "openai"),
    "openai-aiohttp": ("httpx_aiohttp", "'openai[aiohttp]'"),
    "litellm": ("litellm", "litellm"),
    "inspect": ("inspect_ai", "inspect_ai openai"),  # both, for it asks through the other
    "dspy": ("dspy", "dspy"),
    "deepeval": ("deepeval", "deepeval"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("client", choices=list(NEEDS))
    parser.add_argument("url")
    parser.add_argument("--texts", type=Path, required=True)
    parser.add_argument("--judgments", type=int, required=True)
    parser.add_argument("--in-flight", type=int, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--core", type=int)
    arguments = parser.parse_args()
    pin(arguments.core)
    client = arguments.client
    module, provider = NEEDS[client]
    if importlib.util.find_spec(module) is None:
        Measured(lacking=f"pip install {provider}").tell()
        return
    with arguments.texts.open(encoding="utf-8") as lines:
        asked = [json.loads(line) for _, line in zip(range(arguments.judgments + 1), lines, strict=False)]
    cases = [Case(text(a["number"], arguments.seed), a["prompt"]) for a in asked]
    if client == "dspy":
        measured = by_dspy(arguments.url, arguments.in_flight, cases)
    else:
        measured = asyncio.run(measured_by(CLIENTS[client], arguments.url, arguments.in_flight, cases))
    measured.name = f"{NAMES[client]} {version(client.partition('-')[0].replace('inspect', 'inspect_ai'))}"
    measured.tell()


if __name__ == "__main__":
    main()
