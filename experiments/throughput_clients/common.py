"""What all clients share, with the standard library alone: the texts to judge, and how a client is measured."""

from __future__ import annotations

import contextlib
import gc
import json
import random
import resource
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from fast_server import DIGITS, MARK, score_of

WORDS = (
    "river garden morning station window letter market bridge winter summer story music paper village corner answer "
    "question harbour mountain library engine kitchen bicycle forest island picture number lesson minute evening "
    "teacher neighbour traveller captain painter baker keeps makes finds brings shows follows opens carries leaves "
    "gathers repairs describes green quiet early narrow bright useful common little plain open near under beside "
    "after before along without between during the the the a a and and of of to in with for on from by"
).split()
STEPS = (
    "Note the subject of the input and its main points in the order in which they come.",
    "Check for each main point whether the output takes it up, and whether what it says about it is the same.",
    "Look for sentences of the output that deal with something the input neither mentions nor asks for.",
    "Consider how much of the output could stand under quite another input without a change.",
    "Weigh points that were left out against what was added, and give more weight to what comes first in the input.",
)


@dataclass(frozen=True, slots=True)
class Text:
    """A text to judge, with what it answers and the score that the server gives it."""

    number: int
    source: str
    output: str

    @property
    def score(self) -> int:
        """What the server answers."""
        return score_of(f"{self.number:0{DIGITS}}".encode())


def text(number: int, seed: int = 0) -> Text:
    """Return one text of some sixty words; the same for the same number and seed."""
    rng = random.Random(f"{seed} {number}")
    source = " ".join(rng.choices(WORDS, k=30))
    return Text(number, f"{source}.", f"{MARK.decode()}{number:0{DIGITS}} {' '.join(rng.choices(WORDS, k=60))}.")


@dataclass(slots=True)
class Measured:
    """What one client did. Memory is in bytes: resident before, and the most while judging. `name` is for people.

    `lacking` is what has to be installed before there is anything to measure.
    """

    judgments: int = 0
    right: int = 0
    wall: float = 0.0
    cpu: float = 0.0
    before: int = 0
    peak: int = 0
    name: str = ""
    lacking: str = ""

    def tell(self) -> None:
        """Print it for the process that asked."""
        print(json.dumps(asdict(self)), flush=True)


@contextlib.contextmanager
def measuring() -> Iterator[Measured]:
    """Measure what happens inside: wall time, processor time of all threads, resident memory."""
    measured = Measured()
    gc.collect()  # what was left behind before is not to be swept up on the clock
    _forget_peak()
    measured.before = resident()
    cpu, wall = time.process_time(), time.perf_counter()
    yield measured
    measured.wall, measured.cpu = time.perf_counter() - wall, time.process_time() - cpu
    measured.peak = peak()


def peak() -> int:
    """Return the most memory that was resident, in bytes.

    Not from getrusage where it can be helped: Linux carries that figure over from the process that started this one.
    """
    if (found := _status("VmHWM")) is not None:
        return found
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def resident() -> int:
    """Return the memory that is resident now, in bytes; where the system does not say, the most that ever was."""
    found = _status("VmRSS")
    return peak() if found is None else found


def _status(name: str) -> int | None:
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:")), None)


def _forget_peak() -> None:
    """Let the highest mark begin anew, where the system can."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
