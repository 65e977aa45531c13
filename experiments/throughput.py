"""How busy clients keep a server that answers after 100 ms: ours, all of it, beside others.

    python experiments/throughput.py [--judgments 4000] [--in-flight 16,64,256,512] [--clients ours,aiohttp,litellm]
                                     [--python dspy=PATH --python deepeval=PATH]
    python experiments/throughput.py --memory     what memory grows by with every judgment
    python experiments/throughput.py --prefix     what it is worth to put first what all prompts share (SmolLM2)
    python experiments/throughput.py --quick      sixty judgments, eight in flight

The server has a process and, where the system can, a processor of its own (`fast_server.py`), and each client a fresh
interpreter on another one. "Ours" makes prompts of a rubric and texts, sends them, reads the replies, writes journal
and cache; the others send the same prompts with nothing around them, but for DSPy and G-Eval, which make prompts of
the same texts. Wall and processor time are taken without imports and the first request. The ideal rate is what is in
flight over the delay. Replies are checked: the server's score for a text follows from the text's number.

DSPy, DeepEval and inspect_ai want environments of their own; `--python` names the interpreter for a client.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from fast_server import serving, stats
from throughput_clients.common import Measured

HERE = Path(__file__).absolute().parent
OURS, CACHED = "ours", "cached"
CLIENTS = (OURS, CACHED, "aiohttp", "openai", "openai-aiohttp", "litellm", "dspy", "inspect", "deepeval")
NAMES = {OURS: "**ours, whole pipeline**", CACHED: "**ours, all in the cache**"}
SLOW = frozenset({"inspect", "deepeval"})  # tens of milliseconds of processor time a call
PATIENCE = 3600  # seconds for one client
COLUMNS = (
    "client",
    "in flight",
    "right",
    "wall s",
    "judgments/s",
    "share of ideal",
    "CPU ms a call",
    "peak memory MB",
    "of it while judging",
    "most in flight",
)


@dataclass(frozen=True, slots=True)
class Bench:
    """What is the same for all clients."""

    folder: Path
    judgments: int
    slow_judgments: int
    delay: float
    seed: int
    pythons: dict[str, str]
    server_core: int | None
    client_core: int | None

    def count(self, client: str) -> int:
        """Return how many judgments a client makes."""
        return min(self.judgments, self.slow_judgments) if client in SLOW else self.judgments

    def child(self, client: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a module of `throughput_clients` in a fresh interpreter, within the scratch folder."""
        paths = [str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
        quiet = {
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "DEEPEVAL_TELEMETRY_OPT_OUT": "YES",
            "DSPY_CACHEDIR": str(self.folder / "dspy"),
            "NO_PROXY": "127.0.0.1",
        }
        command = [self.pythons.get(client, sys.executable), "-m", *arguments, "--seed", str(self.seed)]
        environment = {**os.environ, **quiet, "PYTHONPATH": os.pathsep.join(paths)}
        return subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False
        )

    def measured(self, client: str, url: str, in_flight: int, count: int) -> Measured | str:
        """Return what a client did, or what went wrong with it."""
        mine = client in NAMES
        sizes = ["--judgments", str(count), "--in-flight", str(in_flight)]
        core = [] if self.client_core is None else ["--core", str(self.client_core)]
        if mine:
            folder = self.folder / f"{in_flight}-{count}"
            folder.mkdir(exist_ok=True)
            work = ["throughput_clients.ours", "run", url, "--folder", str(folder), "--journal", f"{client}.jsonl"]
        else:
            work = ["throughput_clients.foreign", client, url, "--texts", str(self.texts)]
        child = self.child(client, *work, *sizes, *core)
        if child.returncode:
            return (child.stderr.strip().splitlines() or ["no word"])[-1][:200]
        told = Measured(**json.loads(child.stdout.splitlines()[-1]))
        told.name = NAMES[client] if mine else told.name
        return told

    @property
    def texts(self) -> Path:
        """The prompts that all clients send."""
        return self.folder / "texts.jsonl"

    def prepare(self) -> None:
        """Write the prompts. Raises RuntimeError if that cannot be done."""
        made = self.child(OURS, "throughput_clients.ours", "texts", str(self.texts), "--judgments", str(self.judgments))
        if made.returncode:
            raise RuntimeError(made.stderr)


@dataclass(slots=True)
class Outcome:
    """The rates found, by client and width; what the server was like; and what went wrong."""

    rates: dict[tuple[str, int], float] = field(default_factory=dict)
    late: float = 0.0
    busy: float = 0.0
    wrong: list[str] = field(default_factory=list)


def row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def show(bench: Bench, outcome: Outcome, client: str, in_flight: int, url: str) -> None:
    """Measure one client, print its row and note what it came to."""
    found = bench.measured(client, url, in_flight, bench.count(client))
    if isinstance(found, str) or found.lacking:
        why = f"failed: {found}" if isinstance(found, str) else f"not installed ({found.lacking})"
        if isinstance(found, str):
            outcome.wrong.append(f"{client} at {in_flight}: {found}")
        print(row(client, in_flight, why, *[""] * (len(COLUMNS) - 3)), flush=True)
        return
    rate = found.judgments / found.wall
    outcome.rates[client, in_flight] = rate
    if found.right < found.judgments:
        outcome.wrong.append(f"{client} at {in_flight}: {found.judgments - found.right} replies are not the right ones")
    cells = [found.name, in_flight, f"{found.right:,} / {found.judgments:,}", f"{found.wall:.2f}", f"{rate:,.0f}"]
    share, peak = "", ""
    if client != CACHED:
        counts = stats(url)
        share, peak = f"{rate * bench.delay / in_flight:.3f}", f"{counts['peak']:.0f}"
        outcome.late = max(outcome.late, counts["late_ms"])
        outcome.busy = max(outcome.busy, counts["cpu_s"] / found.wall)
    cpu, grown = 1000 * found.cpu / found.judgments, (found.peak - found.before) / 2**20
    cells += [share, f"{cpu:.3f}", f"{found.peak / 2**20:.0f}", f"{grown:.1f}", peak]
    print(row(*cells), flush=True)


def compare(bench: Bench, clients: list[str], widths: list[int]) -> Outcome:
    """Measure all clients at all widths, each with a server of its own."""
    bench.prepare()
    outcome = Outcome()
    print(row(*COLUMNS))
    print(row(*["---"] * len(COLUMNS)))
    for client in clients:
        for width in widths if client != CACHED else []:
            with serving(bench.delay, bench.server_core) as url:
                show(bench, outcome, client, width, url)
                if client == OURS and CACHED in clients:
                    # Replies are kept under the server's address, so it has to be this one.
                    show(bench, outcome, CACHED, width, url)
    late = f"on average at most {outcome.late:.1f} ms late"
    print(f"\nThe server answered {late} and used at most {outcome.busy:.0%} of its processor.")
    return outcome


def ratios(outcome: Outcome, width: int) -> None:
    """Print how many times as fast ours is as the others."""
    ours = outcome.rates.get((OURS, width))
    if ours is None:
        return
    for client, name in (("aiohttp", "bare aiohttp"), ("litellm", "litellm"), ("dspy", "DSPy")):
        if rate := outcome.rates.get((client, width)):
            print(f"ours / {name} at {width} in flight: {ours / rate:.2f}")


def memory(bench: Bench, width: int, counts: tuple[int, int]) -> None:
    """Print how memory grows from so many judgments to so many."""
    print(row("judgments", "right", "memory with the items MB", "peak while judging MB", "for judging MB"))
    print(row(*["---"] * 5))
    runs = []
    for count in counts:
        with serving(bench.delay, bench.server_core) as url:
            found = bench.measured(OURS, url, width, count)
        if not isinstance(found, Measured):
            sys.exit(found)
        before, peak = found.before / 2**20, found.peak / 2**20
        cells = [f"{before:.1f}", f"{peak:.1f}", f"{peak - before:.1f}"]
        print(row(f"{count:,}", f"{found.right:,}", *cells), flush=True)
        runs.append(found)
    few, many = runs
    more = many.judgments - few.judgments
    items = (many.before - few.before) / more
    judging = (many.peak - many.before - few.peak + few.before) / more
    print(f"\n{width} in flight: {judging:.0f} bytes a judgment, beside {items:.0f} bytes an item")


def prefix(bench: Bench, items: int) -> None:
    """Print what the order of a prompt's parts is worth."""
    child = bench.child(OURS, "throughput_clients.prefix", "--items", str(items))
    if child.returncode:
        raise RuntimeError(child.stderr)
    print(child.stdout, end="")


def cores() -> tuple[int | None, int | None]:
    """Return a processor for the server and one for the client, None where they cannot be had."""
    free = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    return (free[-1], free[0]) if len(free) > 1 else (None, None)


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judgments", type=int, default=4000)
    parser.add_argument("--slow-judgments", type=int, default=1000, help=f"for {', '.join(sorted(SLOW))}")
    parser.add_argument("--in-flight", default="16,64,256,512")
    parser.add_argument("--clients", default=",".join(CLIENTS))
    parser.add_argument("--python", action="append", default=[], metavar="CLIENT=PATH", help="may be repeated")
    parser.add_argument("--delay", type=float, default=0.1, help="seconds before each answer")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--prefix", action="store_true")
    parser.add_argument("--items", type=int, default=40, help="for --prefix")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.judgments, arguments.slow_judgments, arguments.in_flight, arguments.items = 60, 60, "8", 5
    if unknown := set(arguments.clients.split(",")) - set(CLIENTS):
        parser.error(f"--clients: {', '.join(sorted(unknown))}: none of {', '.join(CLIENTS)}")
    return arguments


def main() -> None:
    arguments = options()
    widths = [int(width) for width in arguments.in_flight.split(",")]
    pythons = dict(given.split("=", 1) for given in arguments.python)
    sizes = arguments.judgments, arguments.slow_judgments, arguments.delay, arguments.seed
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), *sizes, pythons, *cores())
        if arguments.memory:
            memory(bench, 256 if 256 in widths else max(widths), (arguments.judgments, 10 * arguments.judgments))
        elif arguments.prefix:
            prefix(bench, arguments.items)
        else:
            outcome = compare(bench, arguments.clients.split(","), widths)
            ratios(outcome, 256 if 256 in widths else max(widths))
            if outcome.wrong:
                sys.exit("\n".join(outcome.wrong))


if __name__ == "__main__":
    main()
