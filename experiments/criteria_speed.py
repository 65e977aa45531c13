"""How many items a second the measurable criteria take, on one core.

    python experiments/criteria_speed.py [--data-dir DIR] [--repeat 5]

For the demonstration set and each named set that is there: the median over the repetitions of a measurement of all
its items by all criteria, then the criteria that take most of the time. Loading is not timed.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

from calibrator.aspects import find_aspect
from calibrator.catalog import SETS, is_there, open_source
from calibrator.columns import map_columns
from calibrator.criteria import CRITERIA, Criterion, measure
from calibrator.dataset import rated_items
from calibrator.records import Item

ASPECTS = {"demo": "relevance", "cseval": "relevance", "topical-chat": "overall", "dialsummeval": "relevance"}


def load(name: str, data_dir: Path | None) -> tuple[Item, ...]:
    source = open_source(name, data_dir)
    aspect, _ = find_aspect(ASPECTS[name], source.suite)
    return tuple(rated_items(source.table, map_columns(source.table, source.wanted, aspect), aspect.scale).items)


def seconds(items: Sequence[Item], criteria: Sequence[Criterion], repeat: int) -> float:
    times = []
    for _ in range(repeat):
        begin = time.process_time()
        measure(items, criteria)
        times.append(time.process_time() - begin)
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--repeat", type=int, default=5)
    arguments = parser.parse_args()
    print(f"{'set':14} {'items':>6} {'letters an item':>16} {'items a second':>15}   slowest criteria (µs an item)")
    for name in ASPECTS:
        if not is_there(SETS[name], arguments.data_dir):
            print(f"{name:14} not here; see `calibrate data list`")
            continue
        items = load(name, arguments.data_dir)
        letters = statistics.fmean(len(i.source) + len(i.output) for i in items)
        rate = len(items) / seconds(items, CRITERIA, arguments.repeat)
        reading = seconds(items, (), arguments.repeat)
        each = {c.name: (seconds(items, (c,), 1) - reading) / len(items) * 1e6 for c in CRITERIA}
        slowest = ", ".join(f"{n} {each[n]:.0f}" for n in sorted(each, key=lambda n: each[n], reverse=True)[:4])
        print(f"{name:14} {len(items):6} {letters:16.0f} {rate:15,.0f}   {slowest}", flush=True)


if __name__ == "__main__":
    main()
