"""The server that stands in for a model server: later tests rely on its counts."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.doubles.faults import Faults, chance
from tests.doubles.server import CONTEXT, FINAL, ODD, PASSING, RENAMED, STEPS, Double, key_of, serving

SHORT, LONG = "> a calm word", "> " + "many calm words\n> " * 8 + "end"


def body(prompt: str, **more: object) -> dict[str, Any]:
    messages = [{"role": "system", "content": "You judge."}, {"role": "user", "content": prompt}]
    return {"model": "double", "messages": messages, "temperature": 0.0, "max_tokens": 64, **more}


def ask(double: Double, value: dict[str, Any], key: str = "") -> tuple[int, dict[str, Any]]:
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
    request = urllib.request.Request(f"{double.url}/chat/completions", json.dumps(value).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error) | {"retry": error.headers.get("Retry-After")}


def said(answer: tuple[int, dict[str, Any]]) -> str:
    assert answer[0] == 200
    return str(answer[1]["choices"][0]["message"]["content"])


def score(double: Double, prompt: str) -> int:
    return int(json.loads(said(ask(double, body(prompt))))["score"])


def test_it_counts_what_it_is_asked_and_what_it_answers(tmp_path: Path) -> None:
    values = [body(f"rubric {n}\n\n{SHORT}") for n in range(20)]
    with serving(tmp_path / "log", "--delay", "0.01") as double:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda value: ask(double, value), [*values, values[0]]))
        assert Counter(double.asked()) == Counter(map(key_of, [*values, values[0]]))
    assert Counter(double.answered()) == Counter(double.asked())
    assert double.failed() == []


def test_the_key_is_that_of_what_matters_to_the_answer() -> None:
    one = body("a prompt")
    assert key_of({**one, "stream": False, "user": "x"}) == key_of(dict(reversed(one.items()))) == key_of(one)
    others = [body("b"), body("a prompt", seed=1), body("a prompt", temperature=1.0), body("a prompt", max_tokens=1)]
    assert len({key_of(value) for value in [one, *others, {**one, "model": "m"}]}) == 6


def test_an_answer_looks_like_openai_s(tmp_path: Path) -> None:
    with serving(tmp_path / "log") as double:
        status, answer = ask(double, body(f"Rate it.\n\n{SHORT}"))
        assert status == 200
        assert answer["choices"][0]["finish_reason"] == "stop"
        assert answer["usage"]["prompt_tokens"] == (len("You judge.") + len(f"Rate it.\n\n{SHORT}")) // 4
        assert answer["usage"]["completion_tokens"] >= 1
        with urllib.request.urlopen(f"{double.url}/models", timeout=10) as response:
            assert [m["id"] for m in json.load(response)["data"]] == ["double"]


def test_the_same_is_answered_the_same_by_any_server(tmp_path: Path) -> None:
    prompts = [f"rubric {n}\n\n{SHORT}" for n in range(5)] + ['Reply with {"steps": [...]}']
    heard = []
    for name in ("a", "b"):
        with serving(tmp_path / name) as double:
            heard.append([said(ask(double, body(prompt))) for prompt in prompts for _ in range(2)])
    assert heard[0] == heard[1]
    assert heard[0][::2] == heard[0][1::2]


def test_scores_rise_with_length_and_depend_on_the_rubric(tmp_path: Path) -> None:
    with serving(tmp_path / "log") as double:
        short = [score(double, f"rubric {n}\n\nSOURCE:\n{LONG}\n\nOUTPUT:\n{SHORT}") for n in range(20)]
        long = [score(double, f"rubric {n}\n\nSOURCE:\n{SHORT}\n\nOUTPUT:\n{LONG}") for n in range(20)]
    assert set(short) | set(long) <= {1, 2, 3, 4, 5}
    assert len(set(short)) > 1
    assert max(short) < min(long)


def test_steps_are_given_where_they_are_asked_for(tmp_path: Path) -> None:
    prompt = 'Reply with JSON and nothing else: {"steps": ["first step", "second step", ...]}'
    with serving(tmp_path / "log") as double:
        drafts = [json.loads(said(ask(double, body(prompt, seed=n))))["steps"] for n in range(20)]
    assert {len(steps) for steps in drafts} == {3, 4, 5}
    assert all(set(steps) <= set(STEPS) and len(set(steps)) == len(steps) for steps in drafts)
    assert len({tuple(steps) for steps in drafts}) > 10


def test_an_echo_is_what_was_asked(tmp_path: Path) -> None:
    with serving(tmp_path / "log", "--answers", "echo") as double:
        whole = body("a prompt", seed=3)
        assert json.loads(said(ask(double, whole))) == whole
        _, cut = ask(double, body("a prompt", max_tokens=3))
        assert (len(cut["choices"][0]["message"]["content"]), cut["choices"][0]["finish_reason"]) == (12, "length")
        assert ask(double, body("a" * 4 * CONTEXT))[0] == 400
    assert len(double.answered()) == 3


def test_faults_that_pass_are_no_answers(tmp_path: Path) -> None:
    with serving(tmp_path / "log", "--fail", "429:1") as double:
        status, answer = ask(double, body("x"))
        assert (status, answer["retry"], answer["error"]["code"]) == (429, "0", "rate_limit_exceeded")
    with serving(tmp_path / "log", "--fail", "500:1") as double:
        assert ask(double, body("x"))[0] == 500
    with serving(tmp_path / "log", "--fail", "reset:1") as double, pytest.raises(http.client.IncompleteRead):
        ask(double, body("x"))
    assert double.asked() == double.failed() == [key_of(body("x"))] * 3
    assert double.answered() == []


def test_faults_that_stay_are_answers(tmp_path: Path) -> None:
    with serving(tmp_path / "log", "--fail", "toolong:1") as double:
        status, answer = ask(double, body("x"))
        assert (status, answer["error"]["type"]) == (400, "exceed_context_size_error")
    with serving(tmp_path / "log", "--fail", "refusal:1") as double:
        assert "score" not in said(ask(double, body("x")))
    with serving(tmp_path / "log", "--fail", "length:1") as double:
        _, answer = ask(double, body("x"))
        assert answer["choices"][0]["finish_reason"] == "length"
        with pytest.raises(json.JSONDecodeError):
            json.loads(answer["choices"][0]["message"]["content"])
    assert double.answered() == double.asked() == [key_of(body("x"))] * 3
    assert double.failed() == []


def test_the_same_attempts_fail_every_time(tmp_path: Path) -> None:
    def statuses(name: str) -> list[int]:
        with serving(tmp_path / name, "--fail", "429:0.3", "--fail", "500:0.2") as double:
            return [ask(double, body(f"{n}"))[0] for n in range(30) for _ in range(3)]

    first = statuses("a")
    assert first == statuses("b")
    assert 0.2 < sum(status == 429 for status in first) / len(first) < 0.4
    assert any(status == 500 for status in first)
    assert len({status for n in range(0, 90, 3) for status in [tuple(first[n : n + 3])]}) > 5  # attempts differ


def test_a_wait_is_asked_for_in_every_form(tmp_path: Path) -> None:
    asked: dict[str, list[str | None]] = {}
    for kind in ("429", "429-seconds", "429-date", "429-bare"):
        with serving(tmp_path / kind, "--fail", f"{kind}:1") as double:
            answers = [ask(double, body(f"{n}")) for n in range(30)]
        assert {status for status, _ in answers} == {429}
        asked[kind] = [answer["retry"] for _, answer in answers]
    assert set(asked["429"]) == {"0"} and set(asked["429-seconds"]) == {"0", "1"} and set(asked["429-bare"]) == {None}
    now = time.time()
    assert all(now - 60 < parsedate_to_datetime(date or "").timestamp() < now + 5 for date in asked["429-date"])


@pytest.mark.parametrize("kind", ["503", "truncated", "html", "empty", "hang"])
def test_what_is_no_reply_is_no_answer(tmp_path: Path, kind: str) -> None:
    with serving(tmp_path / "log", "--fail", f"{kind}:1") as double:
        raw = json.dumps(body("x")).encode()
        request = urllib.request.Request(f"{double.url}/chat/completions", raw, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=0.5) as response:
                heard = response.read()
        except urllib.error.HTTPError as error:
            with error:
                assert (kind, error.code) == ("503", 503)
        except TimeoutError:
            assert kind == "hang"
        else:
            assert kind in ("truncated", "html", "empty")
            assert response.status == 200 and (response.headers["Content-Type"] == "text/html") == (kind == "html")
            assert heard and not (kind == "empty" and json.loads(heard)["choices"])
            if kind != "empty":
                with pytest.raises(json.JSONDecodeError):
                    json.loads(heard)
        assert double.events()[-1] == {"event": "failed", "key": key_of(body("x")), "fault": kind}
        assert double.answered() == []


def test_odd_answers_say_the_same(tmp_path: Path) -> None:
    with serving(tmp_path / "log") as double:
        _, plain = ask(double, body("x"))
    for kind in ODD:
        with serving(tmp_path / kind, "--strike", f"{kind}:1") as double:
            status, answer = ask(double, body("x"))
            assert status == 200
            assert answer["model"] == (RENAMED if kind == "renamed" else "double")
            assert {**answer, "model": "double"} | {"retry": 0} == plain | {"retry": 0}
        assert double.answered() == [key_of(body("x"))]


def test_a_request_that_is_struck_meets_each_of_its_faults_once(tmp_path: Path) -> None:
    kinds = ("429-bare", "500", "503", "empty")

    def course(double: Double, prompt: str) -> list[str]:
        """Put a request until it is answered, and return the faults that it met."""
        before = len(double.failed())
        while double.answered().count(key_of(body(prompt))) == 0:
            ask(double, body(prompt))
        assert ask(double, body(prompt))[0] == 200
        return [e["fault"] for e in double.events() if e["event"] == "failed"][before:]

    def courses(name: str, seed: int) -> list[list[str]]:
        strikes = [f"--strike={kind}:0.5" for kind in kinds]
        with serving(tmp_path / name, *strikes, "--seed", str(seed)) as double:
            return [course(double, f"{n}") for n in range(20)]

    first = courses("a", 1)
    assert first == courses("b", 1) != courses("c", 2)
    assert all(len(set(met)) == len(met) for met in first)
    assert all(0 < sum(kind in met for met in first) < 20 for kind in kinds)
    assert len({tuple(met) for met in first}) > 5


def test_who_is_struck_follows_from_seed_key_and_kind_alone() -> None:
    keys = [f"key {n}" for n in range(500)]
    alone = {key: Faults(struck=[("500", 0.2)], seed=3).met(key, 1) == ("500",) for key in keys}
    every = Faults(struck=[(kind, 0.2) for kind in PASSING], seed=3)
    for key in keys:
        met = [every.met(key, attempt) for attempt in range(1, 1 + len(PASSING))]
        assert (("500",) in met) == alone[key] == (chance(3, key, "500") < 0.2)
        assert every.met(key, 1 + len(PASSING)) == ()
    assert 0.15 < sum(alone.values()) / len(keys) < 0.25


def test_a_careless_server_repeats_the_key(tmp_path: Path) -> None:
    with serving(tmp_path / "log", "--require-key", "sk-mild", "--tell-key", "--fail", "500:1") as double:
        for key, status in (("sk-other", 401), ("sk-mild", 500)):
            got, answer = ask(double, body("x"), key)
            assert got == status and key in answer["error"]["message"]


def test_no_key_no_answer(tmp_path: Path) -> None:
    with serving(tmp_path / "log", "--require-key", "sk-mild") as double:
        for wrong in ("", "sk-other"):
            status, answer = ask(double, body("x"), wrong)
            assert (status, answer["error"]["code"]) == (401, "invalid_api_key")
        assert ask(double, body("x"), "sk-mild")[0] == 200
    assert (len(double.asked()), len(double.failed()), len(double.answered())) == (3, 2, 1)


def _until_asked(double: Double) -> None:
    deadline = time.monotonic() + 10
    while not double.asked():
        assert time.monotonic() < deadline, "the request never came"
        time.sleep(0.01)


def test_what_nobody_waited_for_was_not_answered(tmp_path: Path) -> None:
    with serving(tmp_path / "log", "--delay", "0.3") as double:
        host, port = double.url.removeprefix("http://").removesuffix("/v1").split(":")
        with socket.create_connection((host, int(port))) as gone:
            raw = json.dumps(body("x")).encode()
            head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: {host}\r\nContent-Length: {len(raw)}\r\n\r\n"
            gone.sendall(head.encode() + raw)
            _until_asked(double)
        ask(double, body("y"))  # takes as long, so that the first is over
    assert double.asked() == [key_of(body("x")), key_of(body("y"))]
    assert double.answered() == [key_of(body("y"))]


def test_it_ends_when_its_input_ends(tmp_path: Path) -> None:
    with serving(tmp_path / "log", "--delay", "60") as double, ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(ask, double, body("x"))
        _until_asked(double)
        assert double.process.poll() is None
        assert double.process.stdin is not None
        double.process.stdin.close()
        assert double.process.wait(timeout=10) == 0
        assert isinstance(waiting.exception(timeout=10), OSError)
    assert double.answered() == []


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system cannot kill outright")
def test_it_ends_when_the_test_is_killed(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from tests.doubles.server import serving\n"
        "with serving(Path(sys.argv[1])) as double:\n"
        "    print(double.process.pid, flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "log")]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as test:
        assert test.stdout is not None
        server = int(test.stdout.readline())
        test.kill()
    assert _ends(server)


def _ends(pid: int) -> bool:
    """Wait until a process that is not our child is gone, or nothing but its entry is left."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        state = Path(f"/proc/{pid}/stat")
        if state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z":
            return True
        time.sleep(0.01)
    return False


@pytest.mark.parametrize("kind", [*PASSING, *FINAL, *ODD])
def test_a_rate_of_nought_is_never(tmp_path: Path, kind: str) -> None:
    with serving(tmp_path / "log", "--fail", f"{kind}:0") as double:
        assert ask(double, body("x"))[0] == 200
