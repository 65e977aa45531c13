"""Fine-tune a generator with LoRA at the hyperparameters of CrowdCounter (Saha et al. 2024, appendix D.2).

    python experiments/lora.py --model google/flan-t5-base --data Train.jsonl --dev Val.jsonl --out adapter [--download]
        [--method vanilla|typed] [--required required_types]
    python experiments/lora.py --tiny          # on two random models built here: does the loss fall?

The adapter is used with `calibrate generate --model transformers/<model> --model-arg adapter=<folder>`; prompts here
are those of that command in their plain form (the chat form where the model has a template).

As published: learning rate 2e-4, weight decay 0.001, batches of 2, gradients of 4 batches together, cosine decay,
gradient norm clipped at 0.3, 5 epochs (2 for a model of a billion weights and more), fp16 on a GPU, the epoch with
the best loss on dev kept; LoRA of rank 64, alpha 16, dropout 0.1. Not as published: AdamW of torch instead of the paged
one of bitsandbytes (the same steps), no 4-bit weights, and LoRA for all models, where the paper has it for the Llama
models alone and trains Flan-T5 and DialoGPT whole. It does not say which layers ("specific model parts"): here those
that peft takes for the architecture.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from calibrator.catalog import open_source
from calibrator.errors import DataError
from calibrator.generators.design import Asked, named_type
from calibrator.generators.scheme import Method, load_scheme
from calibrator.generators.sources import answer_column, source_columns, text_of
from calibrator.generators.wording import Form, Wording
from calibrator.hub import device_of, required, weights
from calibrator.models.base import ChatRequest
from calibrator.models.transformers_arguments import Arguments
from calibrator.models.transformers_loading import Loaded, load, prompt_of
from calibrator.texts import normalise, unusable

LARGE = 10**9  # weights from which the paper trains 2 epochs, not 5


@dataclass(frozen=True, slots=True)
class Settings:
    """The hyperparameters; those of the paper unless told otherwise. `epochs` 0 is 5, or 2 for a large model."""

    rate: float = 2e-4
    decay: float = 0.001
    batch: int = 2
    together: int = 4
    norm: float = 0.3
    epochs: int = 0
    rank: int = 64
    alpha: int = 16
    dropout: float = 0.1
    longest: int = 512
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Pair:
    """A prompt's source with the answer to learn; `type` is that asked for, "" for none."""

    source: str
    answer: str
    type: str = ""


@dataclass(frozen=True, slots=True)
class Epoch:
    """The mean loss a token, in nats, on train (while learning) and on dev (after), and how long the epoch took."""

    train: float
    dev: float
    seconds: float


Encoded = tuple[list[int], list[int]]  # tokens of the prompt, and of the answer with its end


def read_pairs(data: str, answers: str | None, required_column: str | None, method: Method) -> list[Pair]:
    """Return the pairs of a file. Raises DataError if a column is not there or no row has both texts."""
    origin = open_source(data)
    columns = source_columns(origin.table, origin.wanted)
    column = answer_column(origin.table, answers)
    scheme = load_scheme(None, method)
    pairs = []
    for row in origin.table.rows:
        source, answer = text_of(row.get(columns["source"])), text_of(row.get(column)).strip()
        if unusable(source) is None and unusable(answer) is None:
            named = named_type(scheme, text_of(row.get(required_column))) if required_column else ""
            pairs.append(Pair(source, answer, named))
    if not pairs:
        raise DataError("no row has both a source and an answer", file=origin.table.path, column=column)
    return pairs


def parted(pairs: Sequence[Pair], seed: int, share: float = 0.1) -> tuple[list[Pair], list[Pair]]:
    """Return train and dev; a source is on one side only."""
    sources = sorted({normalise(p.source) for p in pairs})
    random.Random(seed).shuffle(sources)
    held = set(sources[: max(1, round(share * len(sources)))])
    sides: tuple[list[Pair], list[Pair]] = ([], [])
    for pair in pairs:
        sides[normalise(pair.source) in held].append(pair)
    return sides


def encoded(pairs: Sequence[Pair], loaded: Loaded, wording: Wording, longest: int) -> list[Encoded]:
    """Return the pairs as tokens; those with more than `longest` in a prompt and its answer are left out."""
    end = loaded.tokenizer.eos_token_id
    rows = []
    for pair in pairs:
        prompt = prompt_of("the model", loaded, ChatRequest(wording.messages(pair.source, Asked(type=pair.type))))
        answer = loaded.tokenizer(f" {pair.answer}", add_special_tokens=False)["input_ids"]
        rows.append((prompt, [*answer, *([] if end is None else [end])]))
    return [(prompt, answer) for prompt, answer in rows if len(prompt) + len(answer) <= longest]


def batches(rows: Sequence[Encoded], size: int, seed: int | None) -> Iterator[list[Encoded]]:
    """Yield the rows in batches, in an order by the seed (None: as they are)."""
    order = list(rows)
    if seed is not None:
        random.Random(seed).shuffle(order)
    for begin in range(0, len(order), size):
        yield order[begin : begin + size]


def loss_of(model: Any, rows: Sequence[Encoded], padding: int) -> tuple[Any, int]:
    """Return the sum of the losses of the answers' tokens, in nats, and how many these are."""
    torch: Any = required("torch", "lora", "fine-tuning")
    device = next(model.parameters()).device

    def padded(lines: Sequence[list[int]], filler: int) -> Any:
        longest = max(map(len, lines))
        return torch.tensor([line + [filler] * (longest - len(line)) for line in lines], device=device)

    count = sum(len(answer) for _, answer in rows)
    if model.config.is_encoder_decoder:
        ids = padded([prompt for prompt, _ in rows], padding)
        mask = padded([[1] * len(prompt) for prompt, _ in rows], 0)
        targets = padded([answer for _, answer in rows], -100)
        logits = model(input_ids=ids, attention_mask=mask, labels=targets).logits
    else:
        ids = padded([prompt + answer for prompt, answer in rows], padding)
        mask = padded([[1] * (len(prompt) + len(answer)) for prompt, answer in rows], 0)
        targets = padded([[-100] * len(prompt) + answer for prompt, answer in rows], -100)[:, 1:]
        logits = model(input_ids=ids, attention_mask=mask).logits[:, :-1]
    flat = logits.float().reshape(-1, logits.shape[-1])
    return torch.nn.functional.cross_entropy(flat, targets.reshape(-1), ignore_index=-100, reduction="sum"), count


def mean_loss(model: Any, rows: Sequence[Encoded], size: int, padding: int) -> float:
    """Return the mean loss a token, in nats, without dropout."""
    torch: Any = required("torch", "lora", "fine-tuning")
    total, count = 0.0, 0
    model.eval()
    with torch.inference_mode():
        for batch in batches(rows, size, None):
            loss, tokens = loss_of(model, batch, padding)
            total, count = total + float(loss), count + tokens
    model.train()
    return total / count


def adapted(loaded: Loaded, settings: Settings) -> Any:
    """Return the model with LoRA on the layers that peft takes for its architecture; the rest does not learn."""
    peft: Any = required("peft", "lora", "fine-tuning")
    task = "SEQ_2_SEQ_LM" if loaded.model.config.is_encoder_decoder else "CAUSAL_LM"
    lora = peft.LoraConfig(r=settings.rank, lora_alpha=settings.alpha, lora_dropout=settings.dropout, task_type=task)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of layers that are stored the other way round, which peft then minds
        return peft.get_peft_model(loaded.model, lora)


def tune(
    loaded: Loaded, train: Sequence[Encoded], dev: Sequence[Encoded], settings: Settings, out: Path
) -> tuple[float, list[Epoch]]:
    """Fine-tune, save the adapter of the epoch that is best on dev, and return dev's loss before and all epochs."""
    torch: Any = required("torch", "lora", "fine-tuning")
    transformers: Any = required("transformers", "lora", "fine-tuning")
    torch.manual_seed(settings.seed)
    size = sum(p.numel() for p in loaded.model.parameters())
    model = adapted(loaded, settings)
    epochs = settings.epochs or (2 if size >= LARGE else 5)
    learning = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(learning, lr=settings.rate, weight_decay=settings.decay)
    steps = epochs * math.ceil(math.ceil(len(train) / settings.batch) / settings.together)
    schedule = transformers.get_cosine_schedule_with_warmup(optimizer, 0, steps)
    half = loaded.device == "cuda"
    scaler = torch.amp.GradScaler("cuda", enabled=half)
    padding = loaded.model.generation_config.pad_token_id
    began = best = mean_loss(model, dev, settings.batch, padding)
    shares = f"{sum(p.numel() for p in learning):,} of {size:,} weights learn"
    print(f"{shares}; {len(train):,} / {len(dev):,} pairs (train / dev), {steps:,} steps; dev before: {began:.4f}")
    print("| epoch | train | dev | seconds |\n|---|---|---|---|")
    found: list[Epoch] = []
    for epoch in range(epochs):
        clock, total, tokens = time.monotonic(), 0.0, 0
        order = list(batches(train, settings.batch, settings.seed + epoch))
        for k, batch in enumerate(order, 1):
            with torch.autocast("cuda", torch.float16) if half else nullcontext():
                loss, count = loss_of(model, batch, padding)
            whole = min(settings.together, len(order) - (k - 1) // settings.together * settings.together)
            scaler.scale(loss / count / whole).backward()
            total, tokens = total + float(loss.detach()), tokens + count
            if k % settings.together == 0 or k == len(order):
                scaler.unscale_(optimizer)
                torch.nn.utils.clip_grad_norm_(learning, settings.norm)
                scaler.step(optimizer)
                scaler.update()
                optimizer.zero_grad()
                schedule.step()
        found.append(Epoch(total / tokens, mean_loss(model, dev, settings.batch, padding), time.monotonic() - clock))
        print(f"| {epoch + 1} | {found[-1].train:.4f} | {found[-1].dev:.4f} | {found[-1].seconds:.1f} |")
        if found[-1].dev <= best:
            best = found[-1].dev
            model.save_pretrained(out)
    return began, found


def fine_tune(
    name: str, folder: Path, sides: tuple[Sequence[Pair], Sequence[Pair]], method: Method, settings: Settings, out: Path
) -> dict[str, Any]:
    """Load a model, fine-tune it and return the figures; the adapter and they are in `out`."""
    loaded = load(name, folder, Arguments())
    form: Form = "chat" if loaded.template == "chat" else "plain"
    scheme = load_scheme(None, method)
    wording = Wording(scheme, method, form, scheme.words)
    train, dev = (encoded(side, loaded, wording, settings.longest) for side in sides)
    if not train or not dev:
        raise DataError(f"{name}: no pair has at most {settings.longest} tokens on each side; give more: --longest")
    left_out = sum(map(len, sides)) - len(train) - len(dev)
    print(f"\n{name}, {method}: {left_out} pairs with more than {settings.longest} tokens are left out")
    began, epochs = tune(loaded, train, dev, settings, out)
    figures: dict[str, Any] = {
        "model": name,
        "before": round(began, 6),
        "train": [round(e.train, 6) for e in epochs],
        "dev": [round(e.dev, 6) for e in epochs],
    }
    out.mkdir(parents=True, exist_ok=True)
    (out / "figures.json").write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    better = min(e.dev for e in epochs) <= began
    saved = "the adapter of the best epoch is in" if better else "no epoch is better; nothing in"
    print(f"{saved} {out}")
    return figures


# --- two random models ------------------------------------------------------------------------------------------------

TOPICS = "river garden window market street teacher paper bridge".split()


def mild_pairs(count: int = 48) -> list[Pair]:
    """Return pairs whose answer follows from the source."""
    draw = random.Random(0)
    pairs = []
    for k in range(count):
        topic = draw.choice(TOPICS)
        pairs.append(Pair(f"The {topic} is dull, number {k}.", f"I like the {topic} for all that."))
    return pairs


def build(folder: Path, pairs: Sequence[Pair], *, encodes: bool) -> Path:
    """Save a random model like GPT-2, or like T5, with a tokenizer that was trained on the pairs."""
    torch: Any = required("torch", "lora", "a random model")
    transformers: Any = required("transformers", "lora", "a random model")
    tokenizers: Any = required("tokenizers", "lora", "a random model")
    transformers.utils.logging.disable_progress_bar()
    split = tokenizers.pre_tokenizers.ByteLevel
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer, made.decoder = split(add_prefix_space=False), tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=700, special_tokens=["<pad>", "<end>"], initial_alphabet=split.alphabet(), show_progress=False
    )
    purpose = load_scheme(None, "vanilla").purpose
    made.train_from_iterator([purpose, *(f"{p.source} {p.answer}" for p in pairs)], trainer)
    words = transformers.PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<end>", pad_token="<pad>")
    torch.manual_seed(0)
    ends = {"vocab_size": len(words), "eos_token_id": 1, "pad_token_id": 0}
    if encodes:
        shape = {"d_model": 32, "d_kv": 16, "d_ff": 64, "num_layers": 2, "num_heads": 2, "decoder_start_token_id": 0}
        model = transformers.T5ForConditionalGeneration(transformers.T5Config(**shape, **ends))
    else:
        shape = {"n_positions": 512, "n_embd": 32, "n_layer": 2, "n_head": 2, "bos_token_id": 1}
        model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**shape, **ends))
    model.save_pretrained(folder)
    words.save_pretrained(folder)
    return folder


def tiny(out: Path, seed: int) -> list[dict[str, Any]]:
    """Fine-tune both random models, at a rate that suits them, and return the figures."""
    torch: Any = required("torch", "lora", "fine-tuning")
    torch.set_num_threads(1)  # matrices so small gain nothing from several, which only wait for each other
    pairs = mild_pairs()
    # Random weights tell the few that learn nothing: with the paper's rate hardly anything moves in so few steps.
    settings = replace(Settings(), rate=2e-2, seed=seed)
    figures = []
    for encodes in (False, True):
        name = "tiny-t5" if encodes else "tiny-gpt2"
        folder = build(out / name, pairs, encodes=encodes)
        figures.append(fine_tune(name, folder, parted(pairs, seed), "vanilla", settings, out / f"{name}-adapter"))
    return figures


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tiny", action="store_true", help="two random models, built here")
    parser.add_argument("--model", help="a folder, or a name of the hub")
    parser.add_argument("--download", action="store_true", help="fetch the model if it is not here")
    parser.add_argument("--data", help="pairs to learn from: a file or a named set")
    parser.add_argument("--dev", help="pairs to choose the epoch by; else a tenth of the sources")
    parser.add_argument("--answers", help="the column of answers")
    parser.add_argument("--required", help="the column of types, for typed")
    parser.add_argument("--method", choices=["vanilla", "typed"], default="vanilla")
    parser.add_argument("--epochs", type=int, default=0)
    parser.add_argument("--rate", type=float, default=2e-4)
    parser.add_argument("--longest", type=int, default=512, help="most tokens of a pair")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if options.tiny:
        with tempfile.TemporaryDirectory() as passing:
            tiny(options.out or Path(passing), options.seed)
        return
    if not (options.model and options.data and options.out):
        parser.error("--model, --data and --out are needed, or --tiny")
    if (options.method == "typed") != bool(options.required):
        parser.error("--method typed and --required go together")
    pairs = read_pairs(options.data, options.answers, options.required, options.method)
    dev = read_pairs(options.dev, options.answers, options.required, options.method) if options.dev else None
    settings = Settings(rate=options.rate, epochs=options.epochs, longest=options.longest, seed=options.seed)
    folder = weights(options.model, download=options.download, tell=print)
    print(f"on {device_of()}")
    sides = parted(pairs, options.seed) if dev is None else (pairs, dev)
    fine_tune(options.model, folder, sides, options.method, settings, options.out)


if __name__ == "__main__":
    main()
