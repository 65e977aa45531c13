"""What a judge is, in a digest: two judges with the same one give the same verdicts on the same items and replies."""

from __future__ import annotations

from dataclasses import asdict

from calibrator.codec import rubric_to_json
from calibrator.judges.base import Judge
from calibrator.judges.criteria import CriteriaJudge
from calibrator.judges.llm import LLMJudge
from calibrator.judges.mapped import MappedJudge
from calibrator.judges.metric import MetricJudge, versions_of
from calibrator.judges.panel import PanelJudge
from calibrator.judges.recorded import RecordedJudge
from calibrator.texts import digest


def identity(judge: Judge) -> str:
    """Return a digest of all that a judge's verdicts follow from, beside the items and what models reply.

    For judges of other kinds it holds no more than their id and mode.
    """
    return digest([judge.id, judge.mode, _parts(judge)])


def _parts(judge: Judge) -> object:
    if isinstance(judge, LLMJudge):
        prompt = [[p.text, p.slot] for p in judge.prompt.parts]
        return [judge.model, judge.prompt.role, prompt, asdict(judge.sampling), str(judge.scale), judge.names]
    if isinstance(judge, CriteriaJudge):
        return [rubric_to_json(judge.rubric), str(judge.scale)]
    if isinstance(judge, RecordedJudge):
        return [judge.name, str(judge.scale)]
    if isinstance(judge, MappedJudge):
        return [identity(judge.inner), judge.map.numbers()]
    if isinstance(judge, PanelJudge):
        members = [[asdict(m), identity(j)] for m, j in zip(judge.members, judge.judges, strict=True)]
        measured = None if judge.measured is None else identity(judge.measured)
        return [members, judge.base, measured]
    return [judge.weights, versions_of(judge.asked)] if isinstance(judge, MetricJudge) else []
