"""Probing a judge from start to end, for `calibrate probe`: make the judge, find its items, say the plan, tell all."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from calibrator.aspects import find_aspect, parse_scale, read_aspect
from calibrator.calibration.config import RunConfig
from calibrator.calibration.prepare import Prepared, prepare
from calibrator.cli.options import INTERRUPTED
from calibrator.cli.subject import CRITERIA, RECORDED_AS, ZERO_SHOT, Asked, config_of, judge_of, subject_of
from calibrator.errors import BudgetSpent, ConfigError, ModelError, ModelUnfit
from calibrator.evaluation.agreement import systems_of
from calibrator.evaluation.probes.base import Subject
from calibrator.evaluation.probes.replies import probe_replies
from calibrator.evaluation.probes.run import Settings, check_probes, make_probes, planned, probed, run_probes
from calibrator.evaluation.probes.thresholds import Thresholds
from calibrator.files import write_whole
from calibrator.judges.frozen import FrozenJudge, read_frozen
from calibrator.judges.places import find_frozen
from calibrator.models.build import Connections
from calibrator.models.names import check_name
from calibrator.models.prices import price_for
from calibrator.models.rate import LETTERS_A_TOKEN
from calibrator.models.replies import cache_folder
from calibrator.records import Failure, Usage, Verdict
from calibrator.report.console import make_console, say, tell_aside
from calibrator.report.probe import ProbeFile, probe_file, probe_markdown, show_probe, verdict_lines
from calibrator.store import Ledger

REPLIES = "replies:"


def probe_judge(asked: Asked, *, quiet: bool, as_json: bool) -> bool:
    """Probe a judge, print and write what was found, and return whether every threshold was kept.

    Ctrl-C exits with 130; replies are in the cache, unless it is switched off.
    """
    check_probes(asked.probes)
    _check(asked)
    limits = Thresholds().changed(asked.thresholds)
    console = make_console(quiet=quiet or as_json)
    recorded = asked.judge.startswith(REPLIES)
    found = _recorded(asked, limits) if recorded else _live(asked, limits, console)
    text = found.model_dump_json(indent=1) + "\n"
    if asked.out is not None:
        write_whole(asked.out, probe_markdown(found) if asked.out.suffix == ".md" else text)
    if as_json:
        print(text, end="")
    elif quiet:
        print(*verdict_lines(found), sep="\n")
    else:
        show_probe(console, found)
    return found.passed


def _check(asked: Asked) -> None:
    if asked.out is not None and asked.out.suffix not in (".json", ".md"):
        raise ConfigError(f"--out: {asked.out} ends neither in .json nor in .md")
    temperatures = asked.temperatures
    if len(set(temperatures)) < max(2, len(temperatures)) or not all(0 <= t <= 2 for t in temperatures):
        raise ConfigError("--temperatures: give two or more different ones from 0 to 2, e.g. 0,0.5,1")
    if asked.paraphraser is not None:
        check_name(asked.paraphraser)


def _recorded(asked: Asked, limits: Thresholds) -> ProbeFile:
    """Probe replies that were recorded: temperatures only. `--group` names the field that groups the items."""
    given = [o for o in ("data", "model", "budget") if o in asked.said]
    if given:
        raise ConfigError(f"--{given[0]}: recorded replies need neither data nor a model; leave it out")
    if "aspect" not in asked.said:
        raise ConfigError("say what the replies are about: --aspect relevance")
    file, name = asked.said.get("aspect_file"), str(asked.said["aspect"])
    aspect = read_aspect(file) if file else find_aspect(name)[0]
    if "scale" in asked.said:
        aspect = replace(aspect, scale=parse_scale(asked.said["scale"]), anchors={})
    group, path = asked.columns.get("group"), Path(asked.judge.removeprefix(REPLIES))
    more = {k: int(asked.said[k]) for k in ("seed", "resamples") if k in asked.said}
    finding, subject = probe_replies(path, aspect, str(group) if group else None, **more)
    stands_on = f"{len(subject.items)} items in {path.name}"
    return probe_file(probed(subject, (finding,), stands_on), limits, {})


def _live(asked: Asked, limits: Thresholds, console: Console) -> ProbeFile:
    """Make the judge, and probe it on items of the data."""
    by_name = asked.judge in (CRITERIA, ZERO_SHOT) or asked.judge.startswith(RECORDED_AS)
    frozen = None if by_name else read_frozen(find_frozen(asked.judge))
    config = config_of(asked, frozen)
    prepared = prepare(config)
    _check_data(asked, frozen, prepared)
    tell_aside(prepared.warnings)
    Ledger(asked.runs).check()
    try:
        with Connections(config.access(cache_folder()), news=partial(say, console)) as connections:
            return _probed(asked, frozen, config, prepared, connections, limits, console)
    except KeyboardInterrupt:
        print(f"\nStopped; {_kept(config)}.", file=sys.stderr)
        raise SystemExit(INTERRUPTED) from None
    except ModelUnfit:
        raise  # going on would not help
    except (BudgetSpent, ModelError) as error:
        higher = " with a higher --budget" if isinstance(error, BudgetSpent) else ""
        error.args = (f"{str(error).rstrip('.')}; {_kept(config)}{higher}",)
        raise


def _probed(
    asked: Asked,
    frozen: FrozenJudge | None,
    config: RunConfig,
    prepared: Prepared,
    connections: Connections,
    limits: Thresholds,
    console: Console,
) -> ProbeFile:
    """Say the plan, carry it out, and say what it took."""
    bar, count = _progress(console)
    named = judge_of(asked.judge, frozen, config, prepared, connections, count)
    subject, stands_on = subject_of(asked, frozen, config, prepared, named)
    writer = connections.client(asked.paraphraser) if asked.paraphraser and subject.asked else None
    settings = Settings(asked.repeats, asked.temperatures, asked.paraphrases, asked.attacks, asked.own, writer)
    probes = make_probes(asked.probes, settings)
    plan = planned(probes, subject)
    _tell_plan(console, subject, stands_on, plan, config)
    bar.update(bar.task_ids[0], total=sum(plan.values()) // max(1, subject.draws))
    with bar:
        result = run_probes(probes, subject, stands_on, f"split:{prepared.split.digest[:12]}")
    for name, spent in connections.spent.items():
        say(console, f"model     {name}: {spent.replies:,} replies, {spent.calls:,} calls made")
    return probe_file(result, limits, plan, frozen.content_hash if frozen else "")


def _check_data(asked: Asked, frozen: FrozenJudge | None, prepared: Prepared) -> None:
    """Raise ConfigError if the judge is for another aspect, or a system that was named is not in the data."""
    if frozen is not None:
        of = f"{frozen.aspect.suite}/{frozen.aspect.name}"
        if of != prepared.aspect.ref:
            raise ConfigError(f"--aspect: {asked.judge} judges {of}, not {prepared.aspect.ref}; leave it out")
    if unknown := [s for s in asked.own if s not in systems_of(prepared.dataset.items)]:
        raise ConfigError(f"--own: no text is by '{unknown[0]}'; name systems of the data, or their column: --system")


def _tell_plan(console: Console, subject: Subject, stands_on: str, plan: Mapping[str, int], config: RunConfig) -> None:
    """Say what is probed on what, and what it will take."""
    say(console, f"judge     {subject.judge.id}, scores {subject.judge.mode}")
    say(console, f"items     {stands_on}")
    calls = sum(plan.values())
    if not calls:
        say(console, "plan      no call to any model")
        return
    each = ", ".join(f"{name} {n:,}" for name, n in plan.items() if n)
    if subject.asked is None:
        say(console, f"plan      up to {calls:,} calls of its members: {each}")
        return
    lengths = [sum(len(m.content) for m in subject.asked.requests(i)[0].messages) for i in subject.items]
    tokens = round(calls * math.fsum(lengths) / max(1, len(lengths)) / LETTERS_A_TOKEN)
    say(console, f"plan      up to {calls:,} calls: {each}")
    access, model = config.access(None), subject.asked.model
    price, cost = price_for(model, access.price), f"the price of {model} is not known (--price gives it)"
    if price is not None:
        replies = price.cost(Usage(0, calls * subject.asked.sampling.max_tokens))
        cost = f"{price.cost(Usage(tokens)):.3g} US dollars and, for replies, at most {replies:.3g}"
    cap = f"; never more than {access.cap}" if access.cap is not None else ""
    say(console, f"cost      about {tokens:,} prompt tokens; {cost}{cap}")


def _kept(config: RunConfig) -> str:
    if not config.cache:
        return "no reply was kept (--no-cache)"
    return "nothing is lost: the same command goes on with the replies that came"


def _progress(console: Console) -> tuple[Progress, Callable[[Verdict], None]]:
    """Return a bar, and what tells it of each verdict."""
    columns = (TextColumn("probing"), MofNCompleteColumn(), TextColumn("{task.fields[failures]} failures"))
    hidden = console.quiet or not console.is_terminal
    bar = Progress(*columns, TimeRemainingColumn(), console=console, transient=True, disable=hidden)
    task = bar.add_task("probing", total=None, failures=0, visible=False)

    def count(verdict: Verdict) -> None:
        failures = bar.tasks[0].fields["failures"] + isinstance(verdict, Failure)
        bar.update(task, advance=1, failures=failures, visible=True)

    return bar, count
