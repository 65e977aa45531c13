"""`calibrate data` through the installed command; downloads come from a server that the test runs."""

from __future__ import annotations

import csv
import functools
import http.server
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from calibrator.catalog import manifest_of
from tests.conftest import Calibrate, rated_rows

ASPECTS = ("relevance", "coherence", "aggressiveness", "suitableness")


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def mirror(tmp_path: Path) -> Iterator[str]:
    """A server with mild files in the layout of the public repository; gives its address."""
    root = tmp_path / "mirror"
    for entry in manifest_of("cseval").files:
        path = root / entry.path
        path.parent.mkdir(parents=True, exist_ok=True)
        names = [*entry.drop, *entry.required]
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, names)
            writer.writeheader()
            for number, row in enumerate(rated_rows(60, 20)):
                texts = {"hatespeech": row["input"], "predicted_counterspeech": row["output"]}
                # No two columns of ratings are alike: the audit would take them for copies.
                rated = {n: 1 + zlib.crc32(f"{n} {number}".encode()) % 3 for n in names if "score" in n}
                writer.writerow({n: texts.get(n, rated.get(n, f"{n}{number}")) for n in names})
    handler = functools.partial(_Quiet, directory=str(root))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()
        thread.join()


def test_a_set_is_fetched_once_and_can_be_calibrated_on(calibrate: Calibrate, mirror: str, tmp_path: Path) -> None:
    where = ("--data-dir", tmp_path / "sets")
    first = calibrate("data", "get", "cseval", "--base-url", mirror, *where)
    assert first.returncode == 0, first.stderr
    assert (tmp_path / "sets" / "cseval" / "annotators.csv").exists()
    again = calibrate("data", "get", "cseval", "--base-url", "http://127.0.0.1:9/", *where)
    assert again.returncode == 0, again.stderr
    done = calibrate("run", "-a", "relevance", "-d", "cseval", *where, "--trials", 1, "--rounds", 0, "--resamples", 100)
    assert done.returncode == 0, done.stderr
    assert "cseval: 60 rated items" in done.stdout


def test_a_mirror_that_is_not_there_is_one_clear_line(calibrate: Calibrate, tmp_path: Path) -> None:
    done = calibrate("data", "get", "cseval", "--base-url", "http://127.0.0.1:9/", "--data-dir", tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("calibrate: ")
    assert len(done.stderr.splitlines()) == 1


def test_the_list_says_what_is_here(calibrate: Calibrate) -> None:
    done = calibrate("data", "list")
    for name in ("demo", "cseval", "cseval-dev", "topical-chat", "dialsummeval"):
        assert name in done.stdout
    assert "calibrate data get cseval" in done.stdout
