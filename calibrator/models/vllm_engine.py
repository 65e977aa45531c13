"""How an engine of vLLM is set up: its arguments, where what it says goes, and its end when we end.

vLLM runs a model in child processes. Each of them loads the logging configuration that $VLLM_LOGGING_CONFIG_PATH names,
and with it this module: so they can be kept from the terminal, and from outliving us even where we are killed.
"""

from __future__ import annotations

import atexit
import contextlib
import dataclasses
import difflib
import json
import logging
import multiprocessing
import os
import re
import shutil
import signal
import tempfile
import threading
from collections.abc import Mapping
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, get_args

from pydantic import ConfigDict, PydanticSchemaGenerationError, TypeAdapter, ValidationError

from calibrator.errors import ConfigError

# User arguments win. A judge's prompts begin alike; statistics would be printed by a thread every ten seconds.
DEFAULTS: dict[str, Any] = {"enable_prefix_caching": True, "disable_log_stats": True}
_CONFIGURATION, _PREFIX = "VLLM_LOGGING_CONFIG_PATH", "calibrator-vllm-"
_RAISED = re.compile(r"^(?:\w+\.)*\w*(?:Error|Exception): (?P<said>\S.*)$", re.MULTILINE)
_ELSEWHERE = re.compile(r"root cause|stack trace", re.IGNORECASE)  # what an outer process says of an inner one


def engine_arguments(kind: type[Any], given: Mapping[str, str]) -> dict[str, Any]:
    """Return `given`, on top of our defaults, as the fields of vLLM's class of engine arguments.

    Raises ConfigError, which names the key, for one that is no field or a value that is not of the field's type.
    """
    fields = {field.name: field.type for field in dataclasses.fields(kind) if not field.name.startswith("_")}
    arguments = {key: value for key, value in DEFAULTS.items() if key in fields}
    for key, text in given.items():
        if key not in fields:
            near = difflib.get_close_matches(key, fields, n=3)
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            raise ConfigError(f"--model-arg {key}: vLLM has no engine argument of this name{hint}")
        try:
            arguments[key] = converted(text, fields[key])
        except ValueError as error:
            raise ConfigError(f"--model-arg {key}: '{text}' does not fit: {_problem(error)}") from None
    return arguments


def converted(text: str, kind: Any) -> Any:
    """Return the value of type `kind` that a text stands for; lists and objects are JSON. Raises ValueError."""
    members = get_args(kind)
    if text.lower() in ("none", "null") and type(None) in members:
        return None
    for choice in (kind, *members):
        if isinstance(choice, type) and issubclass(choice, Enum) and text in choice.__members__:
            return choice[text]
    value = json.loads(text) if text[:1] in ("{", "[") else text
    if isinstance(kind, str):  # a type whose name only type checkers can look up
        return value
    try:
        adapter = TypeAdapter(kind)
    except PydanticSchemaGenerationError:
        adapter = TypeAdapter(kind, config=ConfigDict(arbitrary_types_allowed=True))
    return adapter.validate_python(value)


def _problem(error: ValueError) -> str:
    if isinstance(error, ValidationError):
        return "; or ".join(dict.fromkeys(detail["msg"] for detail in error.errors()))
    return f"not JSON ({error})"


def prepare() -> None:
    """Set the environment that vLLM and its processes read, where the user has not; to be called before its import.

    With $VLLM_LOGGING_LEVEL set, what vLLM says goes to stderr from that level on; else to a file of this process.
    """
    os.environ.setdefault("VLLM_WORKER_MULTIPROC_METHOD", "spawn")  # a fork would copy locks that our threads hold
    os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")  # nothing is reported to anybody
    named = os.environ.get(_CONFIGURATION)
    ours = named is None or Path(named).parent.name.startswith(_PREFIX)  # or that of a program that started this one
    if ours and os.environ.get("VLLM_CONFIGURE_LOGGING") != "0":
        os.environ[_CONFIGURATION] = str(_logging_configuration())


@cache
def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    atexit.register(_tidy, folder, os.getpid())
    return folder


def _tidy(folder: Path, owner: int) -> None:
    if os.getpid() == owner and not (folder / "keep").exists():
        shutil.rmtree(folder, ignore_errors=True)


def _logging_configuration() -> Path:
    level = os.environ.get("VLLM_LOGGING_LEVEL")
    where = {"path": None if level else str(_folder() / "vllm.log"), "owner": os.getpid()}
    configuration = {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"plain": {"format": "%(levelname)s %(asctime)s %(process)d %(name)s: %(message)s"}},
        "handlers": {"ours": {"()": f"{__name__}.handler", "formatter": "plain", **where}},
        "loggers": {"vllm": {"handlers": ["ours"], "level": (level or "INFO").upper(), "propagate": False}},
    }
    file = _folder() / "logging.json"
    file.write_text(json.dumps(configuration), encoding="utf-8")
    return file


def handler(path: str | None, owner: int) -> logging.Handler:
    """Return the handler of vLLM's log, for the logging configuration of a process: to a file, or stderr if None.

    In any process but `owner`, all that is printed goes there too, and the process is ended when its parent is.
    """
    parent = multiprocessing.parent_process()
    if os.getpid() != owner and parent is not None:
        _become_a_child(path, parent)
    return logging.FileHandler(path, encoding="utf-8") if path else logging.StreamHandler()


@cache  # logging may be configured more than once
def _become_a_child(path: str | None, parent: Any) -> None:
    threading.Thread(target=_end_with, args=(parent,), name="calibrator-parent", daemon=True).start()
    with contextlib.suppress(OSError):
        os.setsid()  # Ctrl-C is for the program that uses the model to handle
    if path is None:
        os.dup2(2, 1)
        return
    with Path(path).open("ab") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)


def _end_with(parent: Any) -> None:
    parent.join()
    os.kill(os.getpid(), signal.SIGKILL)  # SIGTERM would wait for a step that waits for the parent


def log_mark() -> int:
    """Return where the log ends now."""
    log = _folder() / "vllm.log"
    return log.stat().st_size if log.exists() else 0


def log_cause(mark: int) -> str:
    """Return what was raised first in the log after `mark`, "" if it does not say."""
    log = _folder() / "vllm.log"
    if not log.exists():
        return ""
    with log.open("rb") as file:
        file.seek(mark)
        said = file.read().decode("utf-8", "replace")
    causes = (found["said"] for found in _RAISED.finditer(said) if not _ELSEWHERE.search(found["said"]))
    return next(causes, "")


def kept_log() -> Path | None:
    """Return the log, which is then kept after our end; None if vLLM has not written one."""
    log = _folder() / "vllm.log"
    if not log.exists():
        return None
    (log.parent / "keep").touch()
    return log


def engine_processes() -> set[int]:
    """Return the process ids of the engines that run as our children."""
    return {child.pid for child in _engines() if child.pid is not None}


def await_end(processes: set[int]) -> None:
    """Return when these engines have ended, at most some seconds later: vLLM kills them, and leaves them there."""
    for child in _engines():
        if child.pid in processes:
            child.join(10)


def _engines() -> list[multiprocessing.process.BaseProcess]:
    return [child for child in multiprocessing.active_children() if child.name.startswith("EngineCore")]
