"""A model of the Hugging Face hub in this process, on torch: causal ones and those of encoder and decoder.

For small models that no server runs (DialoGPT, Flan-T5, one's own fine-tuned ones). One request is worked on at a time,
in a thread; for large models on a GPU vLLM is many times faster. Torch and transformers are imported with the first
request.
"""

from __future__ import annotations

import asyncio
import importlib.util
import math
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from calibrator.errors import CalibratorError, ModelError, ModelMissing
from calibrator.files import fingerprint
from calibrator.hub import required, weights
from calibrator.models.base import ChatReply, ChatRequest, Finish, Token
from calibrator.models.thread import Thread
from calibrator.models.transformers_arguments import Arguments, arguments_of
from calibrator.models.transformers_loading import EXTRA, PREFIX, Loaded, line_of, load, prompt_of, tell
from calibrator.models.wire import SEEDS, TOO_LONG, token_of
from calibrator.records import Usage
from calibrator.texts import digest

_WHAT_A_MODEL_IS = frozenset({".json", ".jinja", ".txt", ".model", ".safetensors", ".bin"})


class TransformersModel:
    """A model that transformers runs; `name` is `transformers/<a folder, or a name of the hub>`.

    `arguments` are those of `transformers_arguments`. Replies are drawn from the whole distribution unless top_p or
    top_k say otherwise; what the model's own generation settings say of sampling does not count. They carry the
    model's log-probabilities before temperature. A JSON schema is not kept to.
    """

    def __init__(self, name: str, arguments: Mapping[str, str] | None = None) -> None:
        """Raises ConfigError for an argument that there is not."""
        self.id, self._model = name, name.removeprefix(PREFIX)
        self._arguments = arguments_of(arguments or {})
        self.identity = f"{name}{self._told_apart()}"
        self._loaded: Loaded | None = None
        self._thread: Thread | None = None

    def check(self) -> None:
        """Raise ModelMissing if a package or the weights are not here; neither torch nor transformers is imported."""
        extra = "lora" if self._arguments.adapter else EXTRA
        for module in ("torch", "transformers", *(("peft",) if self._arguments.adapter else ())):
            if importlib.util.find_spec(module) is None:
                how = f"it comes with: pip install 'calibrator[{extra}]'"
                raise ModelMissing(f"{self.id} needs {module}, which is not installed; {how}")
        if not self._arguments.download:
            self._folder()

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Return the reply to one request. See `Model`; one that is given up ends with its next token."""
        thread = self._thread = self._thread or Thread("calibrator-transformers")
        given_up = threading.Event()
        try:
            return await thread.do(lambda: self._complete(request, given_up))
        except asyncio.CancelledError:
            given_up.set()
            raise
        except CalibratorError:
            raise
        except Exception as error:  # of torch and transformers, of many kinds
            problem = f"{self.id}: the model does not take the request ({line_of(error)})"
            raise ModelError(problem + _advice(error)) from None

    async def close(self) -> None:
        """Let go of the model."""
        if self._thread is not None:
            thread, self._thread = self._thread, None
            thread.close()
        self._loaded = None

    def _folder(self) -> Path:
        """Return where the weights are. Raises ModelMissing, with what would provide them; fetches only if allowed."""
        try:
            return weights(self._model, download=self._arguments.download, tell=tell)
        except ModelMissing as error:
            if "not installed" in str(error):
                raise
            problem = "its weights are not on this machine; name a folder, or have them fetched"
            raise ModelMissing(f"{self.id}: {problem}: --model-arg download=yes") from None

    def _told_apart(self) -> str:
        """Return what tells this model from others of its name, "" where the name says all."""
        matters: dict[str, Any] = self._arguments.that_matter()
        if self._arguments.adapter:
            matters["adapter"] = _files(self.id, Path(self._arguments.adapter))
        with suppress(OSError, RuntimeError):  # a name may be too long for a path, or name no user
            if (folder := Path(self._model).expanduser()).is_dir():
                matters["files"] = _files(self.id, folder)
        return f"#{digest(matters)[:16]}" if matters else ""

    # --- in the thread ---

    def _complete(self, request: ChatRequest, given_up: threading.Event) -> ChatReply:
        loaded = self._loaded = self._loaded or load(self.id, self._folder(), self._arguments)
        prompt = prompt_of(self.id, loaded, request)
        room = request.sampling.max_tokens
        causal = not loaded.model.config.is_encoder_decoder
        if loaded.most is not None and len(prompt) + (room if causal else 0) > loaded.most:
            return ChatReply("", "refused", _too_long(len(prompt), room, loaded.most), cost=0.0)
        written, logits = _written(loaded, prompt, request, self._arguments, given_up)
        ends = _ends(loaded)
        finish: Finish = "stop" if written and written[-1] in ends else "length"
        kept = written[:-1] if finish == "stop" else written
        text = loaded.tokenizer.decode(kept, skip_special_tokens=True)
        tokens = tuple(_tokens(loaded, kept, logits, request.logprobs)) if request.logprobs else ()
        return ChatReply(_whole(text), finish, "", Usage(len(prompt), len(written)), 0.0, tokens=tokens)


def _ends(loaded: Loaded) -> set[int]:
    ends = loaded.model.generation_config.eos_token_id
    if ends is None:
        ends = loaded.tokenizer.eos_token_id
    return set(ends) if isinstance(ends, list) else {ends} - {None}


def _written(
    loaded: Loaded, prompt: Sequence[int], request: ChatRequest, arguments: Arguments, given_up: threading.Event
) -> tuple[list[int], Sequence[Any]]:
    """Return the tokens of a reply, its end among them, and, where they are wanted, the logits of each."""
    torch: Any = required("torch", EXTRA, "a reply")
    transformers: Any = required("transformers", EXTRA, "a reply")
    sampling, drawn = request.sampling, request.sampling.temperature > 0

    class GivenUp(transformers.StoppingCriteria):  # type: ignore[misc]
        def __call__(self, ids: Any, scores: Any, **more: Any) -> Any:
            return torch.full((ids.shape[0],), given_up.is_set(), device=ids.device)

    settings: dict[str, Any] = {"max_new_tokens": sampling.max_tokens, "do_sample": drawn}
    if drawn:
        settings |= {"temperature": sampling.temperature, "top_p": arguments.top_p, "top_k": arguments.top_k}
    ids = torch.tensor([list(prompt)], device=loaded.device)
    devices = [ids.device] if ids.device.type == "cuda" else []
    with torch.inference_mode(), torch.random.fork_rng(devices=devices):
        if sampling.seed is not None:
            torch.manual_seed(sampling.seed % SEEDS)
        elif drawn:
            torch.seed()  # else it would go on from where the program began
        answer = loaded.model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            stopping_criteria=transformers.StoppingCriteriaList([GivenUp()]),
            return_dict_in_generate=True,
            output_logits=bool(request.logprobs),
            **settings,
        )
    whole = answer.sequences[0].tolist()
    begin = 1 if loaded.model.config.is_encoder_decoder else len(prompt)  # a decoder begins with a token of its own
    return whole[begin:], answer.logits or ()


def _tokens(loaded: Loaded, ids: Sequence[int], logits: Sequence[Any], wanted: int) -> Iterator[Token]:
    """Yield the tokens of a reply as its text has them, with their log-probabilities and those likeliest instead."""
    decode: Callable[[Sequence[int]], str] = loaded.tokenizer.decode
    for k, own in enumerate(ids):
        before = decode(ids[:k])
        chances = logits[k][0].float().log_softmax(-1)
        likeliest = chances.topk(min(wanted, chances.shape[-1]))
        top = [
            (decode([*ids[:k], i])[len(before) :], p)
            for i, p in zip(likeliest.indices.tolist(), likeliest.values.tolist(), strict=True)
            if math.isfinite(p)
        ]
        yield token_of(decode(ids[: k + 1])[len(before) :], float(chances[own]), top)


def _files(name: str, folder: Path) -> dict[str, str]:
    """Return a fingerprint of each file of a model. Raises ModelMissing if they cannot be read."""
    try:
        return {f.name: fingerprint(f) for f in sorted(folder.iterdir()) if f.suffix in _WHAT_A_MODEL_IS}
    except OSError as error:
        raise ModelMissing(f"{name}: the files in {folder} cannot be read ({line_of(error)})") from None


def _too_long(prompt: int, room: int, most: int) -> str:
    if prompt >= most:
        return TOO_LONG
    return f"{TOO_LONG}, of {most:,} tokens, with --max-tokens {room}"


def _whole(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _advice(error: Exception) -> str:
    memory = "out of memory" in str(error).lower()
    return "; a smaller --max-tokens, or --model-arg dtype=bfloat16, takes less memory" if memory else ""
