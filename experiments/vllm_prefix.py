"""What prefix caching is worth to a judge: judgments a second of vLLM in this process, by the order of the prompt.

    python experiments/vllm_prefix.py --shape llama-3-8b --shape mistral-7b     # a GPU with 24 GB
    python experiments/vllm_prefix.py --shape tiny --items 48 --width 8         # any machine with vLLM

Nothing is downloaded: the script writes the configuration of each model (the public numbers of its architecture), vLLM
fills the weights at random (`load_format=dummy`), and a tokenizer is trained on the script's own words. So the replies
mean nothing, and a schema gives them their length; what is computed for each judgment is what the real model computes.

The prompt is that of `calibrator` with a rubric of some 300 tokens (stable part first), and the same with the item in
front of it; items have some 150 tokens. Each judgment is of another item. Prints one table: judgments a second, and the
share of the prompts' tokens that came from the cache.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from calibrator.aspects import Aspect, Scale
from calibrator.judges.llm import score_schema
from calibrator.models.base import ChatReply, ChatRequest, Sampling
from calibrator.models.client import Client, Portal
from calibrator.models.vllm_local import VllmModel
from calibrator.prompts import Part, Prompt, score_prompt

WORDS = (
    "river garden window market street teacher music paper bridge winter coffee letter summer doctor station kitchen "
    "forest picture number season village morning evening journey harbour mountain island library painter lantern "
    "describes mentions considers compares explains follows answers repeats connects supports whether because although "
    "together between before after clearly briefly openly every another common simple careful useful early late the a"
).split()
LLAMA = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "rope_theta": 500000.0}
MISTRAL = {"architectures": ["MistralForCausalLM"], "model_type": "mistral", "rope_theta": 1000000.0}
LARGE = {"hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32}
SHAPES: dict[str, dict[str, Any]] = {
    "llama-3-8b": LLAMA | LARGE | {"num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 8192},
    "mistral-7b": MISTRAL
    | LARGE
    | {"num_key_value_heads": 8, "vocab_size": 32768, "max_position_embeddings": 32768, "sliding_window": None},
    "tiny": LLAMA
    | {"hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 4, "num_attention_heads": 4}
    | {"num_key_value_heads": 2, "vocab_size": 2048, "max_position_embeddings": 4096},
}
COMMON = {"hidden_act": "silu", "rms_norm_eps": 1e-5, "tie_word_embeddings": False, "dtype": "bfloat16"}
ENGINE = {
    "load_format": "dummy",
    "max_model_len": "2048",
    # A model with weights at random would put spaces without end between the parts of its reply.
    "structured_outputs_config": '{"backend": "xgrammar", "disable_any_whitespace": true}',
}
SMALL = {"enforce_eager": "true", "gpu_memory_utilization": "0.3", "kv_cache_memory_bytes": str(2**28)}
TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}[{{ m['role'] }}]\n{{ m['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}[assistant]\n{% endif %}"
)
ASPECT = Aspect(
    "bench",
    "order",
    "Order",
    "how clearly the text follows the source, and whether each part is where a reader would look for it",
    Scale(1, 5),
    anchors={1: "no part is in its place", 5: "every part is in its place"},
)
ROLES = ("source", "output")


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    shape: str
    caching: str
    order: str
    prompt: float
    rate: float
    cached: float


def sentences(draw: random.Random, words: int) -> str:
    """Return so many words in sentences of twelve."""
    drawn = draw.choices(WORDS, k=words)
    lines = [" ".join(drawn[k : k + 12]).capitalize() for k in range(0, words, 12)]
    return ". ".join(lines) + "."


def rubric() -> Prompt:
    """Return the prompt with the stable part first."""
    draw = random.Random(0)
    return score_prompt(ASPECT, [sentences(draw, 24) for _ in range(5)], ROLES)


def item_first(prompt: Prompt) -> Prompt:
    """Return the same prompt with the item in front."""
    opening, *texts, ask = prompt.parts
    stable, mark, words = opening.text.partition("TEXTS\n")
    return Prompt((Part(mark + words), *texts, Part(f"\n{stable}{ask.text}")))


def requests(prompt: Prompt, count: int, seed: int) -> list[ChatRequest]:
    draw = random.Random(seed)
    schema = score_schema(ASPECT.scale)
    texts = [{"source": sentences(draw, 48), "output": sentences(draw, 72)} for _ in range(count)]
    return [ChatRequest(prompt.messages(t), Sampling(max_tokens=24), schema=schema) for t in texts]


def write_model(folder: Path, shape: str) -> None:
    """Write the configuration of a shape and a tokenizer of the script's words."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    config = SHAPES[shape] | COMMON | {"bos_token_id": 0, "eos_token_id": 1}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    made = Tokenizer(models.BPE())
    made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    special = ["<s>", "</s>"]
    trainer = trainers.BpeTrainer(
        vocab_size=2000, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    made.train_from_iterator((r.messages[0].content for r in requests(rubric(), 50, seed=1)), trainer)
    made.save(str(folder / "tokenizer.json"))
    said = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(said | {"chat_template": TEMPLATE}), encoding="utf-8")


def measured(client: Client, asked: Sequence[ChatRequest]) -> tuple[float, Sequence[ChatReply]]:
    begin = time.perf_counter()
    replies = client.ask(asked)
    return len(asked) / (time.perf_counter() - begin), replies


def by_order(client: Client, options: argparse.Namespace) -> Iterator[tuple[str, float, Sequence[ChatReply]]]:
    """Yield the median rate of each order, with the replies of its last round; the orders take turns."""
    orders = {"stable part first": rubric(), "item first": item_first(rubric())}
    rates: dict[str, list[float]] = {name: [] for name in orders}
    replies: dict[str, Sequence[ChatReply]] = {}
    for prompt in orders.values():
        client.ask(requests(prompt, options.width, seed=2))  # what is compiled or captured with first use
    for k in range(options.rounds):
        for name, prompt in orders.items():
            rate, replies[name] = measured(client, requests(prompt, options.items, seed=3 + k))
            rates[name].append(rate)
    for name in orders:
        yield name, statistics.median(rates[name]), replies[name]


def rows(shape: str, options: argparse.Namespace) -> Iterator[Row]:
    given = dict(pair.split("=", 1) for pair in options.model_arg)
    engine = ENGINE | (SMALL if shape == "tiny" else {}) | given
    with tempfile.TemporaryDirectory() as folder:
        write_model(Path(folder), shape)
        for caching in ("on", "off"):
            portal = Portal()
            arguments = engine | {"enable_prefix_caching": str(caching == "on").lower()}
            client = Client(VllmModel(f"vllm-local/{folder}", arguments), portal, options.width)
            try:
                for order, rate, replies in by_order(client, options):
                    tokens = sum(r.usage.prompt for r in replies)
                    share = sum(r.usage.cached for r in replies) / tokens
                    yield Row(shape, caching, order, tokens / len(replies), rate, share)
            finally:
                client.close()
                portal.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", action="append", choices=list(SHAPES), required=True)
    parser.add_argument("--items", type=int, default=2048)
    parser.add_argument("--rounds", type=int, default=3, help="each of other items; the median is printed")
    parser.add_argument("--width", type=int, default=256, help="judgments in flight")
    parser.add_argument("--model-arg", action="append", default=[], metavar="KEY=VALUE", help="for vLLM's engine")
    options = parser.parse_args()
    table = [row for shape in options.shape for row in rows(shape, options)]
    print(f"{options.items} judgments, {options.width} in flight, median of {options.rounds} rounds")
    print(f"{'shape':12}{'caching':9}{'order':20}{'prompt tokens':>14}{'judgments/s':>13}{'cached share':>14}")
    for row in table:
        print(
            f"{row.shape:12}{row.caching:9}{row.order:20}{row.prompt:>14.0f}{row.rate:>13.1f}{row.cached:>13.0%}".rstrip()
        )


if __name__ == "__main__":  # vLLM's processes load this file again
    main()
