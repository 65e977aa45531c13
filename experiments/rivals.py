"""Our search beside DSPy's optimizers, with the same items, models, cache and budget: who finds the better rubric?

    python experiments/rivals.py                        # SmolLM2, demo data and CSEval: a quarter of an hour
    python experiments/rivals.py --model openai/gpt-4o-mini --items 300 --trials 4 --seeds 0-4

Every rubric is handed over as it was chosen (`--keep`), and measured once on the test side, which no search sees. All
have the same cap: the judgments and the proposals that our search would take at most. `asked` is what a search asked
for: judgments of items on train and dev, and rubrics or instructions written; `calls` is all that a run asked of the
model, baselines and test side included. A search that found no rubric says why.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from calibrator.calibration.config import RunConfig, make_config
from calibrator.calibration.loop import Outcome, calibrate
from calibrator.calibration.method import with_model
from calibrator.calibration.prepare import Prepared, prepare, search_plan
from calibrator.calibration.purpose import purpose_of
from calibrator.calibration.result import CALIBRATED
from calibrator.errors import CalibratorError
from calibrator.export import number_of
from calibrator.journal import Journal
from calibrator.models.build import Connections
from calibrator.models.replies import cache_folder
from calibrator.records import Item
from calibrator.split import split_items
from calibrator.store import Ledger, create_run

SEARCHES = ("ours", "dspy-gepa", "dspy-mipro")
ZERO_SHOT = "zero-shot"


@dataclass(frozen=True, slots=True)
class Line:
    """What came of one search; `why` where it found no rubric."""

    search: str
    seed: int
    outcome: Outcome | None
    asked: tuple[int, int]
    calls: int
    seconds: float
    why: str = ""


def main() -> None:
    options = _options()
    for data, aspect in (pair.split(":") for pair in options.data.split(",")):
        lines: list[Line] = []
        for seed in _seeds(options.seeds):
            config = _config(options, data, aspect, seed)
            prepared = _smaller(prepare(config), options.items, seed)
            for search in options.searches.split(","):
                lines.append(_searched(search, config, prepared))
                print(f"# {data} {aspect}, seed {seed}, {search}: {lines[-1].seconds:.0f} s", flush=True)
        _show(data, aspect, prepared, config, lines)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="local/smollm2", help="judge and drafter")
    parser.add_argument("--data", default="demo:relevance,cseval:relevance", help="data:aspect, by comma")
    parser.add_argument("--searches", default=",".join(SEARCHES))
    parser.add_argument("--seeds", default="0", help="0-4 or 0,3")
    parser.add_argument("--items", type=int, default=36, help="of the data, drawn by whole groups; 0: all")
    parser.add_argument("--trials", type=int, default=2)
    parser.add_argument("--shots", default="2,3")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--refinements", type=int, default=2)
    parser.add_argument("--score-mode", default="expected", help="text gives a very small model's one number")
    parser.add_argument("--max-tokens", type=int, default=24)
    parser.add_argument("--draft-tokens", type=int, default=300)
    return parser.parse_args()


def _seeds(text: str) -> list[int]:
    low, dash, high = text.partition("-")
    return list(range(int(low), int(high) + 1)) if dash else [int(part) for part in text.split(",")]


def _config(options: argparse.Namespace, data: str, aspect: str, seed: int) -> RunConfig:
    return make_config(
        aspect=aspect,
        data=data,
        model=options.model,
        seed=seed,
        shots=tuple(map(float, options.shots.split(","))),
        trials=options.trials,
        top_k=2,
        rounds=options.rounds,
        refinements=options.refinements,
        score_mode=options.score_mode,
        max_tokens=options.max_tokens,
        draft_tokens=options.draft_tokens,
        keep=True,
        purpose="new-sources",
    )


def _smaller(prepared: Prepared, count: int, seed: int) -> Prepared:
    """Return the run's data with about `count` items, by whole groups drawn by lot."""
    items = prepared.dataset.items
    if not 0 < count < len(items):
        return prepared
    groups = sorted({i.group for i in items})
    order = np.random.default_rng(seed).permutation(len(groups))
    kept: list[Item] = []
    for place in order:
        if len(kept) >= count:
            break
        kept += [i for i in items if i.group == groups[place]][: max(3, count // 10)]
    dataset = replace(prepared.dataset, items=tuple(kept))
    return replace(prepared, dataset=dataset, split=split_items(kept, seed))


def _searched(search: str, config: RunConfig, prepared: Prepared) -> Line:
    """Return what one search found; replies that another one got are taken from the cache, and counted all the same."""
    config = config.model_copy(update={"optimizer": None if search == "ours" else search})
    began = time.monotonic()
    with TemporaryDirectory() as folder:
        run = create_run(Path(folder), "rivals", config.model_dump(mode="json"))
        journal, outcome, why = run.journal(), None, ""
        with Connections(config.access(cache_folder()), journal, tally=run.calls()) as connections:
            method = with_model(config, prepared.aspect, prepared.roles, connections)
            try:
                purpose = purpose_of(config, prepared)
                outcome = calibrate(prepared, config, method, purpose, run, Ledger(Path(folder)), journal=journal)
            except CalibratorError as error:
                why = str(error)
            calls = sum(spent.replies for spent in connections.spent.values())
        asked = _asked(journal, outcome, config)
        return Line(search, config.seed, outcome, asked, calls, time.monotonic() - began, why)


def _asked(journal: Journal, outcome: Outcome | None, config: RunConfig) -> tuple[int, int]:
    """Return the judgments and the proposals that the search asked for."""
    optimized = journal.get("optimized")
    if optimized is not None:
        return optimized["judgments"], optimized["proposals"]
    drafts = sum(key.startswith("rubric/") for key, _ in journal.items())
    return (outcome.result.judgments if outcome else 0), drafts


def _show(data: str, aspect: str, prepared: Prepared, config: RunConfig, lines: Sequence[Line]) -> None:
    split, most = prepared.split, _most(prepared, config)
    sides = f"train {len(split.train)} / dev {len(split.dev)} / test {len(split.test)}"
    cap = f"at most {most[0]} judgments, {most[1]} proposals"
    print(f"\n{data} {aspect}, {config.model} judges and writes, {sides}; {cap}\n")
    print("| search | seed | test Spearman | failures | asked: judgments + proposals | calls | seconds |")
    print("|---|---|---|---|---|---|---|")
    for line in lines:
        spent = f"{line.asked[0]} + {line.asked[1]} | {line.calls} | {line.seconds:.0f} |"
        print(f"| {line.search} | {line.seed} | {_figure(line, CALIBRATED)} | {_failures(line)} | {spent}")
    for seed, line in {line.seed: line for line in lines if line.outcome}.items():
        print(f"| (zero-shot) | {seed} | {_figure(line, ZERO_SHOT)} | | | | |")
    print(flush=True)


def _most(prepared: Prepared, config: RunConfig) -> tuple[int, int]:
    with Connections(config.access(None)) as connections:
        method = with_model(config, prepared.aspect, prepared.roles, connections)
        drafts, refinements, judgments = search_plan(config, prepared, method)
    return judgments, drafts + refinements


def _figure(line: Line, judge: str) -> str:
    if line.outcome is None:
        return f"none: {line.why}"
    found = next((j for j in line.outcome.result.test.judges if j.name == judge), None)
    if found is None:
        return "left out: too many failures on dev"
    figure = found.figures["spearman"]
    return f"{number_of(figure.value)} [{number_of(figure.low)}, {number_of(figure.high)}]"


def _failures(line: Line) -> str:
    if line.outcome is None:
        return "–"
    return str(sum(next(j for j in line.outcome.result.test.judges if j.name == CALIBRATED).failures.values()))


if __name__ == "__main__":
    main()
