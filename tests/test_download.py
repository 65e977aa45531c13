"""The download of public data sets, against a real server on this machine."""

from __future__ import annotations

import http.server
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from calibrator import download
from calibrator.download import DIGESTS, Manifest, fetch, load_manifest
from calibrator.errors import DataError, DownloadError
from calibrator.resources import folder

PLAIN = b'text,score\nA calm answer,3.0\n"Kind words, and a\nsecond line",4.5\n'
RATED = b"index,reply,score_a1,score_a2\n0,A calm answer,3,4\n1,Kind words,5,4\n"
MANIFEST = Manifest.model_validate(
    {
        "name": "mild",
        "title": "Mild texts",
        "repository": "somebody/mild",
        "commit": "0123456789abcdef0123456789abcdef01234567",
        "licence": "CC0",
        "citation": "none",
        "files": [
            {"path": "data/plain.csv", "target": "plain.csv", "required": ["text", "score"]},
            {
                "path": "data/two raters.csv",
                "target": "rated.csv",
                "rename": {"output": "reply"},
                "drop": ["index"],
                "required": ["reply", "score_a1", "score_a2"],
            },
        ],
    }
)

Answer = Callable[[http.server.BaseHTTPRequestHandler], None]


def body(content: bytes) -> Answer:
    def answer(handler: http.server.BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    return answer


def half(content: bytes) -> Answer:
    def answer(handler: http.server.BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content[: len(content) // 2])
        handler.close_connection = True

    return answer


def status(code: int, **headers: str) -> Answer:
    def answer(handler: http.server.BaseHTTPRequestHandler) -> None:
        handler.send_response(code)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    return answer


def drop(handler: http.server.BaseHTTPRequestHandler) -> None:
    handler.close_connection = True


class Server:
    """Answers each path with its list of answers in turn, the last one ever after; counts the requests."""

    def __init__(self) -> None:
        self.answers: dict[str, list[Answer]] = {}
        self.asked: Counter[str] = Counter()
        self.agents: set[str | None] = set()
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.asked[self.path] += 1
                server.agents.add(self.headers["User-Agent"])
                answers = server.answers.get(self.path, [status(404)])
                (answers.pop(0) if len(answers) > 1 else answers[0])(self)

            def log_message(self, *_: Any) -> None:
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.http.server_port}/mirror/"

    def close(self) -> None:
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()

    def serve(self, plain: list[Answer] | None = None, rated: list[Answer] | None = None) -> None:
        self.answers["/mirror/data/plain.csv"] = plain or [body(PLAIN)]
        self.answers["/mirror/data/two%20raters.csv"] = rated or [body(RATED)]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(download, "_WAITS_S", (0.0, 0.0, 0.0))
    server = Server()
    server.serve()
    yield server
    server.close()


def names(data_dir: Path) -> set[str]:
    return {path.name for path in (data_dir / "mild").iterdir()}


def test_files_arrive_converted_and_their_digests_are_recorded(server: Server, tmp_path: Path) -> None:
    said: list[str] = []
    plain, rated = fetch(MANIFEST, tmp_path / "new", base_url=server.url, report=said.append)
    assert plain.read_bytes() == PLAIN
    assert rated.read_text() == "output,score_a1,score_a2\nA calm answer,3,4\nKind words,5,4\n"
    assert [line.split(":")[0] for line in said] == ["plain.csv", "rated.csv"]
    record = json.loads((plain.parent / DIGESTS).read_text())
    assert {len(entry["sha256"]) for entry in record.values()} == {64}
    assert record["plain.csv"]["source"] == f"somebody/mild@{MANIFEST.commit}:data/plain.csv"
    assert names(tmp_path / "new") == {"plain.csv", "rated.csv", DIGESTS}
    assert server.agents == {"calibrator"}


def test_what_is_there_is_not_fetched_again_unless_forced(server: Server, tmp_path: Path) -> None:
    fetch(MANIFEST, tmp_path, base_url=server.url)
    said: list[str] = []
    paths = fetch(MANIFEST, tmp_path, base_url=server.url, report=said.append)
    assert [path.name for path in paths] == ["plain.csv", "rated.csv"]
    assert server.asked.total() == 2
    assert all("already there" in line for line in said)
    fetch(MANIFEST, tmp_path, base_url=server.url, force=True)
    assert server.asked.total() == 4


def test_a_file_without_a_recorded_digest_is_fetched(server: Server, tmp_path: Path) -> None:
    (tmp_path / "mild").mkdir()
    (tmp_path / "mild" / "plain.csv").write_text("text,score\nPut here by hand,1\n")
    assert fetch(MANIFEST, tmp_path, base_url=server.url)[0].read_bytes() == PLAIN


@pytest.mark.parametrize("lost", [True, False])
def test_changed_content_is_refused_until_it_is_accepted(server: Server, tmp_path: Path, lost: bool) -> None:
    plain = fetch(MANIFEST, tmp_path, base_url=server.url)[0]
    changed = b"text,score\nAnother answer,1.0\n"
    server.serve(plain=[body(changed)])
    if lost:
        plain.unlink()
    with pytest.raises(DownloadError, match=r"changed since it was first downloaded.*--accept-change"):
        fetch(MANIFEST, tmp_path, base_url=server.url, force=True)
    assert not plain.exists() if lost else plain.read_bytes() == PLAIN
    fetch(MANIFEST, tmp_path, base_url=server.url, force=True, accept_change=True)
    assert plain.read_bytes() == changed
    fetch(MANIFEST, tmp_path, base_url=server.url, force=True)


def test_another_pinned_commit_is_another_file(server: Server, tmp_path: Path) -> None:
    fetch(MANIFEST, tmp_path, base_url=server.url)
    changed = b"text,score\nAnother answer,1.0\n"
    server.serve(plain=[body(changed)])
    later = MANIFEST.model_copy(update={"commit": "f" * 40})
    assert fetch(later, tmp_path, base_url=server.url)[0].read_bytes() == changed


def test_a_missing_file_is_not_asked_for_twice(server: Server, tmp_path: Path) -> None:
    server.serve(plain=[status(404)])
    with pytest.raises(DownloadError, match=r"/mirror/data/plain\.csv answered HTTP 404.*by hand") as caught:
        fetch(MANIFEST, tmp_path, base_url=server.url)
    assert str(tmp_path / "mild" / "plain.csv") in str(caught.value)
    assert server.asked.total() == 1
    assert names(tmp_path) == set()


@pytest.mark.parametrize("fault", [half(PLAIN), drop, status(503), status(429)])
def test_a_passing_fault_is_retried(server: Server, tmp_path: Path, fault: Answer) -> None:
    server.serve(plain=[fault, fault, body(PLAIN)])
    assert fetch(MANIFEST, tmp_path, base_url=server.url)[0].read_bytes() == PLAIN
    assert server.asked["/mirror/data/plain.csv"] == 3


@pytest.mark.parametrize(
    ("fault", "reason"), [(half(PLAIN), "broke off"), (drop, "closed connection"), (status(500), "HTTP 500")]
)
def test_a_lasting_fault_keeps_the_old_file_in_place_after_its_retries(
    server: Server, tmp_path: Path, fault: Answer, reason: str
) -> None:
    plain = fetch(MANIFEST, tmp_path, base_url=server.url)[0]
    server.serve(plain=[fault])
    with pytest.raises(DownloadError, match=rf"{reason}.*Check the network"):
        fetch(MANIFEST, tmp_path, base_url=server.url, force=True)
    assert server.asked["/mirror/data/plain.csv"] == 1 + 4
    assert plain.read_bytes() == PLAIN
    assert names(tmp_path) == {"plain.csv", "rated.csv", DIGESTS}


def test_nobody_listens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(download, "_WAITS_S", (0.0,))
    gone = Server()
    gone.close()
    with pytest.raises(DownloadError, match=r"could not be fetched.*HTTPS_PROXY"):
        fetch(MANIFEST, tmp_path, base_url=gone.url)


BAD = {
    "missing column": (b"text,points\nA calm answer,3\n", "column 'score'.*no such column"),
    "web page": (b"<!DOCTYPE html>\n<html><body>Please sign in</body></html>\n", "web page"),
    "no rows": (b"text,score\n", "no rows"),
    "nothing": (b"", "no rows"),
    "ragged": (b"text,score\nA calm answer,3\nKind words\n", "row 3.*1 cells where the header has 2"),
    "open quote": (b'text,score\nA calm answer,3\n"Kind words,4\n', "not CSV"),
    "not UTF-8": (b"text,score\nA caf\xe9,3\n", "not CSV in UTF-8"),
}


@pytest.mark.parametrize(("content", "reason"), BAD.values(), ids=BAD)
def test_what_is_not_the_csv_expected_replaces_nothing(
    server: Server, tmp_path: Path, content: bytes, reason: str
) -> None:
    plain = fetch(MANIFEST, tmp_path, base_url=server.url)[0]
    server.serve(plain=[body(content)])
    for accept_change in (False, True):
        with pytest.raises(DataError, match=rf"(?s)data/plain\.csv.*{reason}"):
            fetch(MANIFEST, tmp_path, base_url=server.url, force=True, accept_change=accept_change)
    assert plain.read_bytes() == PLAIN
    assert names(tmp_path) == {"plain.csv", "rated.csv", DIGESTS}


def test_a_renamed_column_must_be_there(server: Server, tmp_path: Path) -> None:
    server.serve(rated=[body(RATED.replace(b"reply", b"answer"))])
    with pytest.raises(DataError, match=r"two raters\.csv, column 'reply'"):
        fetch(MANIFEST, tmp_path, base_url=server.url)
    assert names(tmp_path) == {"plain.csv", DIGESTS}


def test_a_file_that_is_larger_than_the_limit_is_given_up(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "_LIMIT_BYTES", len(PLAIN) - 1)
    with pytest.raises(DownloadError, match="larger than"):
        fetch(MANIFEST, tmp_path, base_url=server.url)
    assert names(tmp_path) == set()


@pytest.mark.parametrize("scheme", ["file", "ftp"])
def test_no_other_scheme_than_http(server: Server, tmp_path: Path, scheme: str) -> None:
    with pytest.raises(DownloadError, match="only http and https"):
        fetch(MANIFEST, tmp_path, base_url=f"{scheme}://127.0.0.1/data")
    server.serve(plain=[status(302, Location=f"{scheme}://127.0.0.1/data/plain.csv")])
    with pytest.raises(DownloadError, match=r"unknown url type|HTTP 302"):
        fetch(MANIFEST, tmp_path, base_url=server.url)


def test_a_redirect_within_http_is_followed(server: Server, tmp_path: Path) -> None:
    server.serve(plain=[status(302, Location="/elsewhere.csv")])
    server.answers["/elsewhere.csv"] = [body(PLAIN)]
    assert fetch(MANIFEST, tmp_path, base_url=server.url)[0].read_bytes() == PLAIN


def test_a_folder_that_cannot_be_written_to(server: Server, tmp_path: Path) -> None:
    blocked = tmp_path / "data"
    blocked.write_text("a file where the folder should be")
    with pytest.raises(DownloadError, match="cannot write to"):
        fetch(MANIFEST, blocked, base_url=server.url)
    assert server.asked.total() == 0


def test_a_damaged_record_of_digests_is_named(server: Server, tmp_path: Path) -> None:
    (tmp_path / "mild").mkdir()
    (tmp_path / "mild" / DIGESTS).write_text("[")
    with pytest.raises(DataError, match=rf"{DIGESTS}.*delete it"):
        fetch(MANIFEST, tmp_path, base_url=server.url)


@pytest.mark.parametrize("text", ["name: [", "name: mild\n", "- a list\n", None])
def test_a_bad_manifest_is_named(tmp_path: Path, text: str | None) -> None:
    file = tmp_path / "bad.yaml"
    if text is not None:
        file.write_text(text)
    with pytest.raises(DataError, match=r"bad\.yaml: "):
        load_manifest(file)


def test_the_shipped_manifest_is_pinned() -> None:
    manifest = load_manifest(folder("data") / "catalog" / "cseval.yaml")
    start = f"https://raw.githubusercontent.com/AmeyHengle/cs-eval/{manifest.commit}/data/annotations/"
    assert all(manifest.url(entry).startswith(start) for entry in manifest.files)
    assert [entry.target for entry in manifest.files] == ["dev_set_500.csv", "annotators.csv", "rankings.csv"]
    for entry in manifest.files:
        assert not set(entry.drop) & {*entry.required, *entry.rename.values()}
