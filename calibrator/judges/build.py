"""A judge from its frozen form."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from calibrator.aspects import Aspect, Scale
from calibrator.criteria import VERSION
from calibrator.errors import ConfigError, InputError, RubricError
from calibrator.judges.base import Judge
from calibrator.judges.criteria import ID, CriteriaJudge
from calibrator.judges.frozen import FrozenJudge, prompt_of, read_frozen
from calibrator.judges.frozen_parts import JudgeFile, PanelFile
from calibrator.judges.llm import METHOD, LLMJudge
from calibrator.judges.loaded import LoadedJudge
from calibrator.judges.mapped import MappedJudge
from calibrator.judges.metric import METHOD as METRIC
from calibrator.judges.metric import MetricJudge
from calibrator.judges.modes import parse_mode
from calibrator.judges.panel import BOUNDLESS, Member, PanelJudge
from calibrator.judges.places import find_frozen
from calibrator.judges.recorded import METHOD as RECORDED
from calibrator.judges.recorded import RecordedJudge
from calibrator.models.base import Sampling
from calibrator.models.build import Access, Connections
from calibrator.models.client import Client
from calibrator.models.names import check_arguments
from calibrator.models.replies import cache_folder
from calibrator.records import Rubric, Verdict
from calibrator.store import Run


def load_judge(
    name: str | Path,
    *,
    model: str | None = None,
    access: Access | None = None,
    told: Callable[[Verdict], None] | None = None,
    part: Run | None = None,
    news: Callable[[str], None] | None = None,
) -> LoadedJudge:
    """Return the frozen judge in a file, or of a name (see `find_frozen`).

    For an LLM judge, `model` names another model to ask, for example the same one at another address: the figures in
    the file were measured with the model it names. `access` says how the model may be used (with the cache of replies
    unless it says otherwise), `told` hears of each verdict as it comes. In the folder of `part` replies are written
    down as they come, and found again, and what calls took; `news` hears what becomes of batches. Raises RubricError if
    there is no such judge, if it was changed after freezing, or if it needs another version; InputError if `model` is
    given for a judge that asks none; ModelError if the model cannot be asked.
    """
    path = find_frozen(str(name))
    frozen = read_frozen(path)
    if not frozen.asked:
        if model is not None:
            raise InputError(f"{path} is a {frozen.judge.method} judge and asks no model; leave --model out")
        return LoadedJudge(frozen, frozen_judge(path, frozen, _nobody, None))
    if model is not None and frozen.panel is not None:
        raise InputError(f"{path} is a panel, whose members name their own models; leave --model out")
    access = access or Access(cache=cache_folder())
    models = [model or asked.model for asked in frozen.asked]
    check_arguments(models, access.arguments)
    connections = _connections(access, part, news)
    made = frozen_judge(path, frozen, lambda asked: connections.client(model or asked), told)
    return LoadedJudge(frozen, made, connections)


def _connections(access: Access, part: Run | None, news: Callable[[str], None] | None) -> Connections:
    if part is None:
        return Connections(access, news=news)
    return Connections(access, part.journal(), tally=part.calls(), news=news)


def _nobody(model: str) -> Client:
    raise RubricError(f"a judge that asks no model asks {model}")  # not reached: such a file has nothing to ask


def frozen_judge(
    path: Path, frozen: FrozenJudge, client: Callable[[str], Client], told: Callable[[Verdict], None] | None
) -> Judge:
    """Return the judge of a file; `client` gives that of a model, `told` hears of an LLM judge's verdicts."""
    aspect = frozen.aspect.aspect()
    if frozen.panel is None:
        judge = judge_of(path, frozen.judge, frozen.rubric(), aspect, aspect.scale, client, told)
    else:
        judge = _panel(path, frozen, frozen.panel, aspect, client)
    return judge if frozen.map is None else MappedJudge(judge, frozen.map.map())


def _panel(
    path: Path, frozen: FrozenJudge, panel: PanelFile, aspect: Aspect, client: Callable[[str], Client]
) -> PanelJudge:
    seats = []
    for m in panel.members:
        rubric = Rubric(aspect.ref, tuple(s.step() for s in m.steps), m.base)
        scale = aspect.scale if m.on_scale or m.judge.method != RECORDED else None
        made = judge_of(path, m.judge, rubric, aspect, scale, client, None)
        seats.append((Member(m.name, m.weight, m.center, m.spread, m.knots), made))
    rubric = frozen.rubric()
    measured = CriteriaJudge(rubric, BOUNDLESS) if rubric.steps else None
    return PanelJudge(frozen.judge.id, seats, aspect.scale, frozen.base, measured)


def judge_of(
    path: Path,
    judge: JudgeFile,
    rubric: Rubric,
    aspect: Aspect,
    scale: Scale | None,
    client: Callable[[str], Client],
    told: Callable[[Verdict], None] | None,
) -> Judge:
    """Return the judge in its file form; `scale` is None for recorded scores on a scale of their own.

    Raises RubricError, which names `path`, if it needs another version.
    """
    if judge.method == METHOD:
        return _llm(path, judge, aspect, client, told)
    if judge.method == RECORDED:
        return RecordedJudge(judge.id.removeprefix(f"{RECORDED}:"), scale)
    if judge.method == METRIC:
        return _metric(path, judge)
    if judge.method != "criteria":
        problem = f"its method is '{judge.method}'"
        raise RubricError(f"{path}: {problem}, which this version of calibrator does not know; upgrade calibrator")
    if judge.id != ID:
        problem = f"it was frozen with {judge.id}, and this version measures as criteria/{VERSION}"
        raise RubricError(f"{path}: {problem}; its weights would not fit: calibrate again")
    return CriteriaJudge(rubric, aspect.scale)


def _metric(path: Path, judge: JudgeFile) -> MetricJudge:
    made = MetricJudge(judge.id.removeprefix(f"{METRIC}:"))
    if judge.weights is not None and made.weights != judge.weights:
        problem = "its weights are others than those that it was frozen with"
        raise RubricError(f"{path}: {judge.id}: {problem}; restore them, or freeze the panel anew")
    return made


def _llm(
    path: Path,
    judge: JudgeFile,
    aspect: Aspect,
    client: Callable[[str], Client],
    told: Callable[[Verdict], None] | None,
) -> Judge:
    asked = judge.asked
    if asked is None:
        raise RubricError(f"{path}: an LLM judge that holds no message to ask; calibrate again")
    try:
        mode = parse_mode(judge.score_mode)
    except ConfigError:
        problem = f"its score mode is '{judge.score_mode}'"
        raise RubricError(
            f"{path}: {problem}, which this version of calibrator does not know; upgrade calibrator"
        ) from None
    prompt, sampling = prompt_of(asked), Sampling(**asked.sampling.model_dump())
    return LLMJudge(client(asked.model), prompt, aspect, sampling, told, mode)
