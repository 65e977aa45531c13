"""Models of the Hugging Face hub made ready on torch, and how messages are put to them."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from calibrator.errors import ConfigError, ModelError, ModelMissing, ModelUnfit
from calibrator.hub import SAFE, device_of, loading, required, weights
from calibrator.models.base import ChatRequest
from calibrator.models.transformers_arguments import Arguments, Template, arguments_of
from calibrator.models.wire import request_body, told

PREFIX, EXTRA = "transformers/", "neural"
UNBOUNDED = 10**6  # what tokenizers give as the longest prompt where they do not know it is far above this


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model that is ready: `most` is how many tokens prompt and reply may have together (None: no bound)."""

    model: Any
    tokenizer: Any
    template: Template
    most: int | None
    device: str


def is_chat(name: str, given: Mapping[str, str], *, fetch: bool = True) -> bool:
    """Whether messages are put to a model of this kind by a chat template: as `template` says, else as its files tell.

    `given` is what `--model-arg` says. Weights that are not here are fetched first, where that and `fetch` allow it;
    a model that is not here has no template that can be seen. Raises ConfigError for an argument that there is not,
    ModelMissing if huggingface_hub is not installed, ModelError if they cannot be fetched.
    """
    arguments = arguments_of(given)
    if arguments.template is not None:
        return arguments.template == "chat"
    try:
        folder = weights(name.removeprefix(PREFIX), download=arguments.download and fetch, tell=tell)
    except ModelMissing as error:
        if "not installed" in str(error):
            raise
        return False
    return (folder / "chat_template.jinja").exists() or bool(
        _json(folder / "tokenizer_config.json").get("chat_template")
    )


def tell(line: str) -> None:
    """Say that something is fetched."""
    print(line, file=sys.stderr)


def load(name: str, folder: Path, arguments: Arguments) -> Loaded:
    """Return the model in a folder, ready.

    Raises ModelMissing for a package, ModelError if it cannot be loaded, ModelUnfit if it lacks weights or a
    vocabulary.
    """
    torch: Any = required("torch", EXTRA, name)
    transformers: Any = required("transformers", EXTRA, name)
    device = device_of(arguments.device)
    with loading(name):
        # Nothing is looked up: `folder` is on this machine, and code of the repository's own is never run.
        config = transformers.AutoConfig.from_pretrained(folder, **SAFE)
        kind = transformers.AutoModelForSeq2SeqLM if config.is_encoder_decoder else transformers.AutoModelForCausalLM
        dtype = "auto" if arguments.dtype == "auto" else getattr(torch, arguments.dtype)
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **SAFE)
        model, info = kind.from_pretrained(folder, dtype=dtype, output_loading_info=True, **SAFE)
    if missing := sorted(info["missing_keys"]):  # transformers draws them at random
        raise ModelUnfit(f"{name} is no model that writes: it has no weights for {', '.join(missing[:3])}")
    if not _words(tokenizer):
        raise ModelUnfit(f"{name}: its tokenizer has no vocabulary; are the tokenizer's files in {folder}?")
    if arguments.adapter:
        peft: Any = required("peft", "lora", f"{name} with an adapter")
        with loading(f"the adapter {arguments.adapter}"):
            model = peft.PeftModel.from_pretrained(model, arguments.adapter, local_files_only=True).merge_and_unload()
    model = model.to(device).eval()
    own = model.generation_config
    ends = {"eos_token_id": own.eos_token_id, "bos_token_id": own.bos_token_id}
    model.generation_config = transformers.GenerationConfig(
        **ends, decoder_start_token_id=own.decoder_start_token_id, pad_token_id=_padding(own, tokenizer)
    )
    template = arguments.template or _template(folder, tokenizer)
    if template == "chat" and not tokenizer.chat_template:
        raise ConfigError(f"--model-arg template=chat: {name} has no chat template")
    return Loaded(model, tokenizer, template, _most(model, tokenizer), device)


def _words(tokenizer: Any) -> set[str]:
    """Return what a tokenizer knows beside special tokens and marks of a space: where its files are absent, nothing.

    Transformers makes one up then, for most kinds of models without a word.
    """
    return {token for token in tokenizer.get_vocab() if token.strip("▁Ġ ")} - set(tokenizer.all_special_tokens)


def _template(folder: Path, tokenizer: Any) -> Template:
    """Return how messages are put to a model: its chat template; turns, each with an end, for a model trained on them.

    DialoGPT is one (its configuration says so), and any other model is given the plain text.
    """
    if tokenizer.chat_template:
        return "chat"
    tasks = _json(folder / "config.json").get("task_specific_params")
    return "turns" if isinstance(tasks, dict) and "conversational" in tasks else "plain"


def _padding(own: Any, tokenizer: Any) -> int:
    """Return the token that stands where none does; any will do, as one request is worked on at a time."""
    ends = own.eos_token_id
    first = ends[0] if isinstance(ends, list) else ends
    found = (own.pad_token_id, tokenizer.pad_token_id, first, 0)
    return next(int(token) for token in found if token is not None)


def _most(model: Any, tokenizer: Any) -> int | None:
    """Return the longest that a prompt (with the reply, where one model reads both) may be, None without a bound."""
    places = getattr(model.config, "max_position_embeddings", None)
    if isinstance(places, int) and places > 0:
        return places
    return int(tokenizer.model_max_length) if tokenizer.model_max_length < UNBOUNDED else None


def prompt_of(name: str, loaded: Loaded, request: ChatRequest) -> list[int]:
    """Return the tokens of the messages.

    Raises ModelError if the chat template does not take them, ModelUnfit if the tokenizer knows nothing of them.
    """
    tokenizer = loaded.tokenizer
    messages = request_body(request, "")["messages"]
    if loaded.template == "chat":
        try:
            text = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
        except Exception as error:  # jinja2's, or raised by the template
            raise ModelError(f"{name}: its chat template does not take the messages ({line_of(error)})") from None
        tokens = tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
    elif loaded.template == "turns":
        text = "".join(m["content"] + (tokenizer.eos_token or "") for m in messages)
        tokens = tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
    else:
        tokens = tokenizer("\n\n".join(m["content"] for m in messages), verbose=False)["input_ids"]
    if not tokens and any(m["content"].strip() for m in messages):
        raise ModelUnfit(f"{name}: its tokenizer makes no token of the messages; it does not fit the model")
    first = next((t for t in (tokenizer.bos_token_id, tokenizer.eos_token_id) if t is not None), 0)
    return list(tokens) or [first]


def _json(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file, an empty one if there is none."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def line_of(error: object) -> str:
    """Return what an error says, in one line."""
    return told(str(error or type(error).__name__).encode("utf-8", "replace"))
