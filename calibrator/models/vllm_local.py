"""vLLM in this process: no server to start, the same engine. vLLM itself is imported with the first request."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import inspect
import itertools
import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from calibrator.errors import CalibratorError, ConfigError, ModelError, ModelMissing, ModelUnavailable
from calibrator.files import fingerprint
from calibrator.models.base import ChatReply, ChatRequest, Finish, Token
from calibrator.models.vllm_engine import (
    await_end,
    engine_arguments,
    engine_processes,
    kept_log,
    log_cause,
    log_mark,
    prepare,
)
from calibrator.models.wire import TOO_LONG, request_body, token_of, told
from calibrator.records import Usage
from calibrator.texts import digest

NEEDS_VLLM = "vLLM is not installed; it comes with: pip install 'vllm>=0.11'"
NO_TEMPLATE = "the model has no chat template; give one with --model-arg chat_template=<file>, or take a model for chat"
MEMORY = "lower --model-arg max_model_len=<tokens>, or set --model-arg gpu_memory_utilization=<share, 0 to 1>"
_TEMPLATE = "chat_template"  # ours; all other arguments are vLLM's
_WHAT_A_MODEL_IS = frozenset({".json", ".jinja", ".txt", ".model", ".safetensors", ".bin", ".pt", ".pth", ".gguf"})
# They say how fast and where a model runs. Whatever is not among them may change a reply.
_NO_MATTER = frozenset(
    "gpu_memory_utilization kv_cache_memory_bytes num_gpu_blocks_override swap_space cpu_offload_gb block_size "
    "enable_prefix_caching enable_chunked_prefill max_num_seqs max_num_batched_tokens async_scheduling "
    "disable_log_stats enable_log_requests disable_log_requests use_tqdm_on_load download_dir hf_token "
    "max_parallel_loading_workers shutdown_timeout max_logprobs".split()
)


class VllmModel:
    """A model that vLLM runs; `name` is `vllm-local/<a name on the hub, or a folder>`.

    `arguments` are vLLM's engine arguments as texts (`tensor_parallel_size`, `quantization`, `max_model_len` …), and
    `chat_template`, the file of one. Prefix caching is on unless they say otherwise. The engine is started with the
    first request and ended by `close`; its processes end with ours, however that ends.

    Replies carry the model's log-probabilities before temperature. Under a schema vLLM takes them after the grammar has
    ruled out what may not follow: the tokens that may share all the probability, and where one may it is certain.
    """

    def __init__(self, name: str, arguments: Mapping[str, str]) -> None:
        """Raises ModelMissing if a path leads nowhere, ConfigError for an argument that cannot be used."""
        self.id, self._model = name, name.removeprefix("vllm-local/")
        self._arguments = {key.strip().replace("-", "_"): text for key, text in arguments.items()}
        self._template = _template(self._arguments.pop(_TEMPLATE, None))
        if "model" in self._arguments:
            raise ConfigError("--model-arg model: the model is named behind vllm-local/")
        self.identity = f"{name}{self._told_apart()}"
        # Not the result of the start: that would live on in the frame of a thread, and vLLM cannot be deleted at exit.
        self._engine: Any = None
        self._starting: asyncio.Task[None] | None = None
        self._others: set[int] = set()  # engines that were there before ours
        self._own: set[int] = set()
        self._mark = 0
        self._numbers = itertools.count()

    def check(self) -> None:
        """Raise ModelMissing if vLLM is not installed or a path leads nowhere; vLLM is not imported."""
        if importlib.util.find_spec("vllm") is None:
            raise ModelMissing(f"{self.id}: {NEEDS_VLLM}")
        self._path()

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Return the reply to one request. See `Model`; a request that is given up is taken out of the engine."""
        engine = await self._started()
        try:
            prompt = await self._prompt(engine, request)
            if len(prompt) + request.sampling.max_tokens > engine.vllm_config.model_config.max_model_len:
                return ChatReply("", "refused", TOO_LONG)
            answer = await _answer(engine, prompt, request, f"{self.id}-{next(self._numbers)}")
            return await _reply(engine, answer)
        except CalibratorError:
            raise
        except Exception as error:  # vLLM's, of many kinds
            raise self._fault(engine, error) from None

    async def close(self) -> None:
        """End the engine, also one that is still starting."""
        if self._starting is None:
            return
        starting, self._starting = self._starting, None
        while not starting.done():  # loading takes minutes, which whoever pressed Ctrl-C should not wait
            for process in engine_processes() - self._others:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            await asyncio.wait([starting], timeout=0.5)
        if not starting.cancelled():
            starting.exception()  # it was told to whoever asked
        engine, self._engine = self._engine, None
        if engine is not None:
            await asyncio.to_thread(engine.shutdown)
            await asyncio.to_thread(await_end, self._own)

    async def _started(self) -> Any:
        """Return the engine. All who wait for its start share it, or its error; after an error it may be tried again.

        The start is a task of its own: whoever asked for it may be cancelled, and its processes must still have an
        owner.
        """
        if self._starting is None:
            self._others, self._mark = engine_processes(), log_mark()
            self._starting = asyncio.create_task(asyncio.to_thread(self._start))
        starting = self._starting
        try:
            await asyncio.shield(starting)
        except Exception:
            if self._starting is starting:
                self._starting = None
            raise
        if self._engine is None:
            raise ModelError(f"{self.id}: it was closed while it started")
        return self._engine

    def _start(self) -> None:
        """Start the engine, which takes from half a minute to several. Raises ModelError, ModelMissing, ConfigError."""
        self.check()
        prepare()
        try:
            from vllm.engine.arg_utils import AsyncEngineArgs
            from vllm.sampling_params import StructuredOutputsParams  # noqa: F401 - what older ones lack
            from vllm.v1.engine.async_llm import AsyncLLM
        except Exception as error:  # a build for other hardware fails in many ways
            raise ModelMissing(f"{self.id}: the vLLM that is installed does not work here ({_line(error)})") from None
        arguments = engine_arguments(AsyncEngineArgs, self._arguments)
        try:
            self._engine = AsyncLLM.from_engine_args(AsyncEngineArgs(model=self._path() or self._model, **arguments))
        except Exception as error:
            raise self._broken("vLLM could not start", error, "") from None
        self._own = engine_processes() - self._others

    def _path(self) -> str | None:
        """Return the path of a model on this machine, None for a name on the hub. Raises ModelMissing."""
        try:
            path = Path(self._model).expanduser()
            if path.exists():
                return str(path)
        except (OSError, RuntimeError):  # no such user, a name too long
            pass
        if self._model.startswith(("/", "./", "../", "~")):
            raise ModelMissing(f"{self.id}: there is no such folder; give a model's folder or its name on the hub")
        return None

    def _told_apart(self) -> str:
        """Return what tells this model from others of its name, "" where the name says all."""
        matters: dict[str, Any] = {key: text for key, text in self._arguments.items() if key not in _NO_MATTER}
        if self._template is not None:
            matters[_TEMPLATE] = digest(self._template)
        if path := self._path():
            matters["files"] = _files(self.id, Path(path))
        return f"#{digest(matters)[:16]}" if matters else ""

    async def _prompt(self, engine: Any, request: ChatRequest) -> list[int]:
        """Return the tokens of the messages in the chat template. Raises ModelError if it does not take them."""
        tokenizer = await _tokenizer(engine)
        if self._template is None and getattr(tokenizer, "chat_template", "") is None:
            raise ModelMissing(f"{self.id}: {NO_TEMPLATE}")
        given = {} if self._template is None else {"chat_template": self._template}
        messages = request_body(request, self.id)["messages"]
        try:
            tokens = tokenizer.apply_chat_template(
                messages, add_generation_prompt=True, tokenize=True, return_dict=False, **given
            )
        except Exception as error:  # jinja2's, or raised by the template
            raise ModelError(f"{self.id}: its chat template does not take the messages ({_line(error)})") from None
        return list(tokens)

    def _fault(self, engine: Any, error: Exception) -> ModelError:
        if engine.errored or type(error).__name__ == "EngineDeadError":
            return self._broken("vLLM's engine died", error, "replies so far are kept, and the same command goes on")
        return ModelError(f"{self.id}: vLLM does not take the request ({_line(error.__cause__ or error)})")

    def _broken(self, what: str, error: Exception, advice: str) -> ModelError:
        """Return the error for an engine that is not there; what happened in its processes only its log can tell."""
        inner = "root cause" in str(error)
        problem = _line((log_cause(self._mark) if inner else "") or error)
        if inner and "memory" in problem.lower():
            advice = MEMORY
        log = f"vLLM's log: {kept}" if inner and (kept := kept_log()) else ""
        return ModelError("; ".join(part for part in (f"{self.id}: {what} ({problem})", advice, log) if part))


def _template(file: str | None) -> str | None:
    """Return the text of the chat template in a file. Raises ConfigError if it cannot be read."""
    if file is None:
        return None
    try:
        return Path(file).expanduser().read_text(encoding="utf-8")
    except (OSError, RuntimeError, UnicodeDecodeError) as error:
        raise ConfigError(f"--model-arg {_TEMPLATE}: '{file}' cannot be read ({_line(error)})") from None


def _files(name: str, path: Path) -> dict[str, str]:
    """Return a fingerprint of each file of a model."""
    try:
        if path.is_file():
            return {"": fingerprint(path)}
        return {f.name: fingerprint(f) for f in path.iterdir() if f.suffix in _WHAT_A_MODEL_IS and f.is_file()}
    except OSError as error:
        raise ModelMissing(f"{name}: its files cannot be read ({_line(error)})") from None


def _line(error: object) -> str:
    return told(str(error or type(error).__name__).encode("utf-8", "replace"))


async def _tokenizer(engine: Any) -> Any:
    tokenizer = engine.get_tokenizer()
    return await tokenizer if inspect.isawaitable(tokenizer) else tokenizer  # a coroutine in older versions


async def _answer(engine: Any, prompt: list[int], request: ChatRequest, number: str) -> Any:
    """Return vLLM's output for a prompt. Where the caller is cancelled, `generate` takes the request out."""
    from vllm.sampling_params import RequestOutputKind, SamplingParams, StructuredOutputsParams

    most = engine.vllm_config.model_config.max_logprobs
    wanted = min(request.logprobs, most) if most >= 0 else request.logprobs
    body = request_body(request, "")
    parameters = SamplingParams(
        temperature=body["temperature"],
        max_tokens=body["max_tokens"],
        seed=body.get("seed"),
        logprobs=wanted or None,
        structured_outputs=None if request.schema is None else StructuredOutputsParams(json=request.schema),
        output_kind=RequestOutputKind.FINAL_ONLY,
    )
    # "type" tells newer versions that nothing has to be rendered; older ones do not look at it.
    tokens = {"type": "token", "prompt_token_ids": prompt}
    async with contextlib.aclosing(engine.generate(tokens, parameters, number)) as answers:
        answer = [whole async for whole in answers][-1]
    if answer.outputs[0].finish_reason not in ("stop", "length"):
        raise ModelUnavailable("vLLM broke the reply off")
    return answer


async def _reply(engine: Any, answer: Any) -> ChatReply:
    output = answer.outputs[0]
    usage = Usage(len(answer.prompt_token_ids), len(output.token_ids), answer.num_cached_tokens or 0)
    finish: Finish = "length" if output.finish_reason == "length" else "stop"
    ids, places = list(output.token_ids), output.logprobs or ()
    if places and finish == "stop" and ids[-1] in (await _tokenizer(engine)).all_special_ids:
        ids = ids[:-1]  # what ends a reply is no part of its text
    return ChatReply(output.text, finish, usage=usage, cost=0.0, tokens=tuple(_tokens(ids, places)))


def _tokens(ids: Sequence[int], places: Sequence[Mapping[int, Any]]) -> Iterator[Token]:
    for own, place in zip(ids, places, strict=False):
        top = [(one.decoded_token or "", one.logprob) for one in place.values()]
        yield token_of(place[own].decoded_token or "", place[own].logprob, top)
