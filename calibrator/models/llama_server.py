"""The child process in which llama.cpp serves a GGUF file, started with FILE, SLOTS and CONTEXT.

It prints its address, or "error: …", as its only line, and ends when its standard input closes; so it never outlives
whoever started it, however that one ended.
"""

from __future__ import annotations

import os
import sys
import threading
from typing import TextIO


def main() -> None:
    """Serve until standard input closes."""
    path, slots, context = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    # llama.cpp writes to file descriptor 1 as it likes; the one line for the parent gets a descriptor of its own.
    threading.Thread(target=end_with_parent, daemon=True).start()
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    try:
        serve(path, slots, context, answer)
    except Exception as error:  # the parent gives it to the user
        print(f"error: {' '.join(str(error).split()) or type(error).__name__}", file=answer, flush=True)
    # Not sys.exit: the server's threads would be waited for.
    os._exit(0)


def serve(path: str, slots: int, context: int, answer: TextIO) -> None:
    """Start the server, print its address and wait. `context` tokens are for each of the `slots`."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = path
    params.n_parallel = slots
    params.n_ctx = slots * context
    params.verbosity = -1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads()
    server = xllamacpp.Server(params)
    print(server.listening_address, file=answer, flush=True)
    threading.Event().wait()


def end_with_parent() -> None:
    """End this process, whatever it is at, as soon as standard input closes."""
    while os.read(0, 4096):
        pass
    os._exit(0)


def threads() -> int:
    """Return how many threads compute: $LLAMA_ARG_THREADS, which is llama.cpp's own, else one less than processors.

    The threads wait for each other without sleeping; where another process takes one of their processors, all of them
    become some ten times slower.
    """
    named = os.environ.get("LLAMA_ARG_THREADS", "")
    return int(named) if named.isdigit() and int(named) > 0 else max(1, (os.cpu_count() or 2) - 1)


if __name__ == "__main__":
    main()
