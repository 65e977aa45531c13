"""Stability over temperatures from recorded replies."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from calibrator.aspects import find_aspect
from calibrator.errors import DataError
from calibrator.evaluation.probes.replies import MISSING, probe_replies, read_replies
from calibrator.judges.parsing import Found, read_score
from tests.evaluation.probes.making import RELEVANCE


def write(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    return path


def row(item: object, temperature: float, reply: str, **more: object) -> dict[str, object]:
    return {"item": item, "temperature": temperature, "reply": reply, **more}


def test_a_file_by_hand(tmp_path: Path) -> None:
    scores = {0.0: [1, 2, 3, 4], 1.0: [1, 3, 2, 5]}
    rows = [row(k, t, f'{{"score": {s}}}') for t, given in scores.items() for k, s in enumerate(given)]
    rows += [row(9, 0.0, '{"score": 4'), row(8, 0.0, '{"sc', finish="length"), row(8, 1.0, "I am sorry, no.")]
    finding, subject = probe_replies(write(tmp_path / "mine.jsonl", rows), RELEVANCE, resamples=200)
    lines = {line.case: line for line in finding.lines}
    assert list(lines) == ["at 0", "at 1", "0 to 1"]
    assert lines["at 0"].failures == {"the reply was cut off before its score was complete": 1}
    assert lines["at 1"].failures == {"the model refused to answer": 1, MISSING: 1}
    assert lines["at 0"].figures["failed"].value == pytest.approx(1 / 6)
    both = lines["0 to 1"].figures
    assert lines["0 to 1"].items == 4
    assert both["rho"].value == pytest.approx(0.8)
    assert both["shift"].value == pytest.approx(0.25)
    assert both["change"].value == pytest.approx(0.75)
    assert subject.fixed and len(subject.items) == 6


def test_other_names_models_aspects_and_groups(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"uuid": f"u{k}", "temperature": t, "response": str(k % 5 + 1), "model": m, "aspect": a, "prompt": f"p{k // 2}"}
        for k in range(6)
        for t in (0, 1)
        for m in ("one", "two")
        for a in ("Relevance", "fluency")
    ]
    finding, subject = probe_replies(write(tmp_path / "r.jsonl", rows), RELEVANCE, "prompt", resamples=100)
    assert [line.case for line in finding.lines if "to" in line.case] == ["one 0 to 1", "two 0 to 1"]
    assert {line.groups for line in finding.lines} == {3}
    assert len(subject.items) == 6


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{", "not a line of JSON"),
        ("[]", "not a JSON object"),
        ('{"item": "a", "reply": "3"}', "temperature is missing"),
        ('{"item": "a", "temperature": -1, "reply": "3"}', "temperature"),
        ('{"item": "", "temperature": 0, "reply": "3"}', "item"),
        ('{"item": "ok", "temperature": 0, "reply": "3"}', "a second reply"),
    ],
)
def test_what_is_no_recorded_reply_is_refused_with_its_line(tmp_path: Path, line: str, why: str) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text('{"item": "ok", "temperature": 0, "reply": "3"}\n' + line + "\n", encoding="utf-8")
    with pytest.raises(DataError, match=why) as caught:
        read_replies(path, RELEVANCE)
    assert f"{path}, row 2" in str(caught.value)


def test_a_file_that_is_not_there_or_about_something_else(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="No such file"):
        read_replies(tmp_path / "absent.jsonl", RELEVANCE)
    path = write(tmp_path / "r.jsonl", [row("a", 0, "3", aspect="fluency")])
    with pytest.raises(DataError, match="no reply is about 'relevance'"):
        read_replies(path, RELEVANCE)
    path = write(tmp_path / "g.jsonl", [row("a", 0, "3")])
    with pytest.raises(DataError, match="no text under 'prompt'"):
        read_replies(path, RELEVANCE, "prompt")


def test_the_real_replies_beside_pandas(real_data: Path) -> None:
    path = real_data / "cseval" / "responses.jsonl"
    aspect = find_aspect("cseval/aggressiveness")[0]
    finding, subject = probe_replies(path, aspect, "hatespeech", resamples=100)
    assert len(subject.items) == 787 and len(set(subject.groups)) == 480
    frame = pd.DataFrame(map(json.loads, path.read_text(encoding="utf-8").splitlines()))
    frame = frame[frame.aspect == "aggressiveness"]
    assert len(frame) == 18_888 / 4
    found = [
        read_score(r, aspect.scale, cut_off=f == "length", names=(aspect.name, aspect.label))
        for r, f in zip(frame.response, frame.finish_reason, strict=True)
    ]
    frame = frame.assign(score=np.array([f.score if isinstance(f, Found) else np.nan for f in found]))
    lines = {line.case: line for line in finding.lines}
    for model, part in frame.groupby("model"):
        wide = part.pivot_table(index="uuid", columns="temperature", values="score")
        for t in (0.0, 0.5, 1.0):
            failed = part[part.temperature == t].score.isna()
            line = lines[f"{model} at {t:g}"]
            assert line.figures["failed"].value == pytest.approx(failed.mean())
            assert sum(line.failures.values()) == failed.sum()
        both = wide[[0.0, 1.0]].dropna()
        line = lines[f"{model} 0 to 1"]
        assert line.items == len(both)
        assert line.figures["rho"].value == pytest.approx(stats.spearmanr(both[0.0], both[1.0]).statistic)
        assert line.figures["change"].value == pytest.approx((both[1.0] - both[0.0]).abs().mean())
        assert line.figures["shift"].value == pytest.approx((both[0.0] - both[1.0]).mean()), "lower is better"
