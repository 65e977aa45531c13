"""Tiny random networks with tokenizers of a few words, in folders as the hub has them, for tests of neural metrics."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import (
    AutoTokenizer,
    BartConfig,
    BartForConditionalGeneration,
    BertConfig,
    BertForSequenceClassification,
    BertModel,
    DistilBertConfig,
    DistilBertModel,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaModel,
    T5Config,
    T5ForConditionalGeneration,
)

TEXTS = (
    "The bus was late again, and nobody was told why.",
    "A later bus would have been better than none!",
    "Please tell us, kindly, when the next one leaves.",
    "Walking is healthy; the rain is not.",
    "Is this question: a fluent paragraph? Yes or No, summary document claim reference",
)
WIDE = 32
LONGEST = 128  # tokens; which ones a trainer chooses differs a little from run to run, and no text comes near this
torch.set_num_threads(1)  # threads that wait for each other make such small networks slow on a busy machine


@cache
def opened(folder: Path, kind: Any) -> tuple[Any, Any]:
    """Return tokenizer and network of a folder as transformers alone opens them, to compute by hand with."""
    return AutoTokenizer.from_pretrained(folder), kind.from_pretrained(folder).eval()


def wordpieces(folder: Path, longest: int = LONGEST) -> PreTrainedTokenizerFast:
    """Save a tokenizer like BERT's: [CLS] text [SEP], pieces with ##."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    trainer = trainers.WordPieceTrainer(vocab_size=110, special_tokens=special, show_progress=False)
    tokenizer.train_from_iterator([text.lower() for text in TEXTS], trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return _saved(
        tokenizer,
        folder,
        longest,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )


def bytepairs(folder: Path, longest: int = LONGEST) -> PreTrainedTokenizerFast:
    """Save a tokenizer like RoBERTa's and BART's: <s> text </s>, pieces of bytes."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=330, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    names = {"bos_token": "<s>", "cls_token": "<s>", "eos_token": "</s>", "sep_token": "</s>"}
    return _saved(tokenizer, folder, longest, **names, pad_token="<pad>", unk_token="<unk>")


def words(folder: Path, longest: int = 512) -> PreTrainedTokenizerFast:
    """Save a tokenizer like T5's in so far as a text ends with </s> and has it inside where it says so."""
    tokenizer = Tokenizer(models.WordLevel(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    trainer = trainers.WordLevelTrainer(special_tokens=["<pad>", "</s>", "<unk>"], show_progress=False)
    tokenizer.train_from_iterator(TEXTS, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return _saved(tokenizer, folder, longest, pad_token="<pad>", eos_token="</s>", unk_token="<unk>")


def _saved(tokenizer: Tokenizer, folder: Path, longest: int, **names: Any) -> PreTrainedTokenizerFast:
    made: Any = PreTrainedTokenizerFast  # untyped
    fast: PreTrainedTokenizerFast = made(tokenizer_object=tokenizer, model_max_length=longest, **names)
    folder.mkdir(parents=True, exist_ok=True)
    fast.save_pretrained(folder)
    return fast


def _small(vocabulary: int, **more: Any) -> dict[str, Any]:
    return {
        "vocab_size": vocabulary,
        "hidden_size": WIDE,
        "num_hidden_layers": 3,
        "num_attention_heads": 2,
        "intermediate_size": WIDE,
        "initializer_range": 0.4,  # far from 0, so that texts differ
        **more,
    }


def bert(folder: Path, labels: int = 0, *, layers: int = 3, **more: Any) -> Path:
    """Save a BERT: a bare encoder, or one that gives `labels` numbers."""
    torch.manual_seed(0)
    vocabulary = len(wordpieces(folder))
    config = BertConfig(
        **_small(vocabulary, max_position_embeddings=LONGEST, num_hidden_layers=layers, pad_token_id=0), **more
    )
    config.num_labels = labels or 2
    model = BertForSequenceClassification(config) if labels else BertModel(config)
    model.save_pretrained(folder)
    return folder


def distilbert(folder: Path) -> Path:
    """Save a DistilBERT."""
    torch.manual_seed(1)
    vocabulary = len(wordpieces(folder))
    config = DistilBertConfig(
        vocab_size=vocabulary,
        dim=WIDE,
        n_layers=2,
        n_heads=2,
        hidden_dim=WIDE,
        max_position_embeddings=LONGEST,
        initializer_range=0.4,
    )
    DistilBertModel(config).save_pretrained(folder)
    return folder


def roberta(folder: Path) -> Path:
    """Save a RoBERTa without a pooler, as on the hub; two places of its table of positions are for no token."""
    torch.manual_seed(2)
    vocabulary = len(bytepairs(folder, longest=10**9))
    config = RobertaConfig(
        **_small(vocabulary, max_position_embeddings=LONGEST + 2, pad_token_id=1, bos_token_id=0, eos_token_id=2)
    )
    RobertaModel(config, add_pooling_layer=False).save_pretrained(folder)
    return folder


def bart(folder: Path, seed: int = 3) -> Path:
    """Save a BART."""
    torch.manual_seed(seed)
    vocabulary = len(bytepairs(folder))
    config = BartConfig(
        vocab_size=vocabulary,
        d_model=WIDE,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=WIDE,
        decoder_ffn_dim=WIDE,
        max_position_embeddings=LONGEST,
        init_std=0.4,
        pad_token_id=1,
        bos_token_id=0,
        eos_token_id=2,
        decoder_start_token_id=2,
        forced_eos_token_id=2,
    )
    BartForConditionalGeneration(config).save_pretrained(folder)
    return folder


def t5(folder: Path) -> Path:
    """Save a T5."""
    torch.manual_seed(4)
    vocabulary = len(words(folder))
    make: Any = T5Config
    config = make(
        vocab_size=vocabulary,
        d_model=WIDE,
        d_kv=16,
        d_ff=WIDE,
        num_layers=2,
        num_heads=2,
        pad_token_id=0,
        eos_token_id=1,
        decoder_start_token_id=0,
        initializer_factor=3.0,
    )
    T5ForConditionalGeneration(config).save_pretrained(folder)
    return folder
