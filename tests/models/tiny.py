"""Random models of a few thousand weights, built for a test and saved as the hub has them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

WORDS = (
    "the river runs past a garden and under the old bridge where people walk in summer . say what you think of rivers "
    "at length ! 0 1 2 3 4 5 6 7 8 9 10 11 word one a b friendly short reply : user assistant"
).split()
PAIRS = [(f"Say {n}.", f"{n} {' '.join(WORDS[n : n + 4])}") for n in range(12)]
NO_CHANCE = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
END, PAD, UNKNOWN = "<|endoftext|>", "<pad>", "<unk>"
TURNS = (
    "{% for m in messages %}{{ m.role }} : {{ m.content }} {% endfor %}"
    "{% if add_generation_prompt %}assistant : {% endif %}"
)


def tokenizer(end: str, *, appends: bool, longest: int, template: str | None = None) -> Any:
    """Return a tokenizer of whole words that was trained on `WORDS`; `appends` puts `end` behind each text."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(models.BPE(unk_token=UNKNOWN))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    special = [PAD, end, UNKNOWN]
    trainer = trainers.BpeTrainer(vocab_size=400, special_tokens=special, initial_alphabet=alphabet)
    made.train_from_iterator([" ".join(WORDS)] * 3, trainer)
    if appends:
        made.post_processor = processors.TemplateProcessing(
            single=f"$A {end}", special_tokens=[(end, made.token_to_id(end))]
        )
    fast = PreTrainedTokenizerFast(
        tokenizer_object=made, eos_token=end, bos_token=end, pad_token=PAD, unk_token=UNKNOWN, model_max_length=longest
    )
    fast.chat_template = template
    return fast


def gpt2(folder: Path, *, template: str | None = None, turns: bool = False, seed: int = 0) -> Path:
    """Save a model like GPT-2, with 512 places for tokens; `turns` marks it as DialoGPT is marked."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(seed)
    words = tokenizer(END, appends=False, longest=512, template=template)
    ends = {"eos_token_id": words.eos_token_id, "bos_token_id": words.eos_token_id, "pad_token_id": words.pad_token_id}
    config = GPT2Config(vocab_size=len(words), n_positions=512, n_embd=32, n_layer=1, n_head=2, **NO_CHANCE, **ends)
    _save(folder, GPT2LMHeadModel(config), words)
    if turns:
        path = folder / "config.json"
        stored = json.loads(path.read_text())
        path.write_text(json.dumps(stored | {"task_specific_params": {"conversational": {"max_length": 1000}}}))
    return folder


def t5(folder: Path, *, seed: int = 0) -> Path:
    """Save a model like T5, whose tokenizer takes 128 tokens."""
    import torch
    from transformers import T5Config, T5ForConditionalGeneration

    torch.manual_seed(seed)
    words = tokenizer("</s>", appends=True, longest=128)
    ends = {"eos_token_id": words.eos_token_id, "pad_token_id": words.pad_token_id}
    config = T5Config(
        vocab_size=len(words),
        d_model=32,
        d_kv=16,
        d_ff=64,
        num_layers=1,
        num_heads=2,
        dropout_rate=0.0,
        decoder_start_token_id=words.pad_token_id,
        **ends,
    )
    _save(folder, T5ForConditionalGeneration(config), words)
    return folder


def _save(folder: Path, model: Any, words: Any) -> None:
    """Teach a model by heart what to answer to `Say <n>.`, and save it."""
    import torch
    from transformers.utils import logging

    logging.disable_progress_bar()
    logging.set_verbosity_error()
    optimizer = torch.optim.Adam(model.train().parameters(), lr=0.01)
    batch = _lesson(words, encodes=model.config.is_encoder_decoder)
    for _ in range(600):
        loss = model(**batch).loss
        if loss.item() < 0.01:
            break
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    else:
        raise AssertionError(f"the model did not learn its answers: {loss.item()}")
    model.save_pretrained(folder)
    words.save_pretrained(folder)


def _lesson(words: Any, *, encodes: bool) -> dict[str, Any]:
    """Return the pairs as a batch; the model is corrected where it answers, and not where it reads."""
    import torch

    pairs = [(words(ask)["input_ids"], words(f" {answer}")["input_ids"]) for ask, answer in PAIRS]
    end, pad = words.eos_token_id, words.pad_token_id
    if encodes:
        return {
            "input_ids": _padded([ask for ask, _ in pairs], pad),
            "attention_mask": _padded([[1] * len(ask) for ask, _ in pairs], 0),
            "labels": _padded([answer for _, answer in pairs], -100),
        }
    rows = [[*ask, *answer, end] for ask, answer in pairs]
    labels = [[-100] * len(ask) + [*answer, end] for ask, answer in pairs]
    return {
        "input_ids": _padded(rows, pad),
        "attention_mask": _padded([[1] * len(row) for row in rows], 0),
        "labels": torch.as_tensor(_padded(labels, -100)),
    }


def _padded(rows: list[list[int]], filler: int) -> Any:
    import torch

    longest = max(map(len, rows))
    return torch.tensor([row + [filler] * (longest - len(row)) for row in rows])
