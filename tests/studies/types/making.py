"""Small labelled sets, and tiny checkpoints that the tests make themselves."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from calibrator.studies.types.base import Example
from calibrator.studies.types.scheme import Scheme, scheme_of

WORDS = "river garden window market street teacher music paper".split()
SIGNS = {"asking": "why ?", "calm": "gently", "sharp": "never !"}
LABELS = tuple(SIGNS)
SCHEME: Scheme = scheme_of(LABELS)


def make_examples(count: int = 60, groups: int = 20, seed: int = 0) -> list[Example]:
    """Return mild texts with one to three labels; each label shows in a word or a sign, some of them mislabelled."""
    draw = random.Random(seed)
    examples = []
    for k in range(count):
        labels = frozenset(label for label in LABELS if draw.random() < 0.4) or frozenset({draw.choice(LABELS)})
        words = draw.choices(WORDS, k=5) + [SIGNS[label] for label in sorted(labels)]
        draw.shuffle(words)
        if draw.random() < 0.05:
            labels = frozenset({draw.choice(LABELS)})
        group = f"source {k % groups}"
        examples.append(Example(f"i{k}", " ".join(words), labels, group, group, k + 2))
    return examples


def tokenizer_in(folder: Path) -> int:
    """Save a tokenizer that knows the words of the examples and of the prompt; return how many tokens it has."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    prompt = "Types Text Which of the types are there in this text Answer with a list none : ; > . , ? !".split()
    known = ["[PAD]", "[UNK]", "[CLS]", "</s>", *WORDS, *" ".join(SIGNS.values()).split(), *LABELS, *prompt]
    vocabulary = {word: k for k, word in enumerate(dict.fromkeys(known))}
    made: Any = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 3)])
    fast = PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="[PAD]", unk_token="[UNK]", eos_token="</s>", model_max_length=256
    )
    fast.save_pretrained(folder)
    return len(vocabulary)


def encoder_in(folder: Path, **settings: Any) -> Path:
    """Save a tiny BERT with random weights."""
    import torch
    from transformers import BertConfig, BertModel

    size = tokenizer_in(folder)
    torch.manual_seed(0)
    shape = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
    BertModel(BertConfig(vocab_size=size, pad_token_id=0, **shape, **settings)).save_pretrained(folder)
    return folder


def writer_in(folder: Path) -> Path:
    """Save a tiny T5 with random weights."""
    import torch
    from transformers import T5Config, T5ForConditionalGeneration

    size = tokenizer_in(folder)
    torch.manual_seed(0)
    shape = {"d_model": 32, "d_kv": 16, "d_ff": 64, "num_layers": 1, "num_heads": 2}
    tokens = {"pad_token_id": 0, "eos_token_id": 3, "decoder_start_token_id": 0}
    T5ForConditionalGeneration(T5Config(vocab_size=size, **shape, **tokens)).save_pretrained(folder)
    return folder
