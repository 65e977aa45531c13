"""Files that outlive any end of the process: torn last lines, full disks, files held by others."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrator.errors import RunError
from calibrator.files import Appending, append_line, line_of, locked, read_lines, write_whole
from calibrator.store import Run
from tests.conftest import ROOT

FULL = Path("/dev/full")
VALUES = st.recursive(
    st.one_of(st.none(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=3)),
    max_leaves=5,
)
RECORDS = st.lists(st.dictionaries(st.text(max_size=3), VALUES, max_size=3), max_size=5)


@settings(max_examples=200, deadline=None)
@given(RECORDS, st.integers(0, 10**6))
def test_whatever_is_torn_off_all_whole_lines_are_there_and_writing_goes_on(
    records: list[dict[str, Any]], cut: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lines.jsonl"
        path.touch()
        for record in records:
            append_line(path, record)
        whole = path.read_bytes()
        left = whole[: cut % (len(whole) + 1)]
        path.write_bytes(left)
        there = records[: left.count(b"\n")]
        assert read_lines(path) == there
        assert path.read_bytes() == left  # whoever reads changes nothing: another process may be writing
        append_line(path, {"new": 1})
        with closing(Appending(path)) as end:
            begin = end.add(line_of({"new": 2}))
        assert read_lines(path) == [*there, {"new": 1}, {"new": 2}]
        assert json.loads(path.read_bytes()[begin:]) == {"new": 2}


@pytest.mark.parametrize("length", [1, 2**16 - 1, 2**16, 2**16 + 1, 3 * 2**16])
def test_a_long_torn_line_is_cut_off(tmp_path: Path, length: int) -> None:
    path = tmp_path / "lines.jsonl"
    append_line(path, {"first": 1})
    with path.open("a") as file:
        file.write("x" * length)
    append_line(path, {"second": 2})
    assert read_lines(path) == [{"first": 1}, {"second": 2}]


def test_a_file_that_is_all_torn_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_text('{"key": "a", "val')
    assert read_lines(path) == []
    append_line(path, {"a": 1})
    assert path.read_text() == '{"a": 1}\n'


@pytest.mark.parametrize(
    "line", ["", "x", "[1]", "3", '{"other": 1}', '{"key": }', '{"key": "\\ud8', "\x00" * 20, '{"key": 1} {"key": 1}']
)
def test_a_line_that_is_damaged_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_text(f'{{"key": 1}}\n{line}\n{{"key": 2}}\n')
    with pytest.raises(RunError) as caught:
        read_lines(path, {"key"})
    assert str(caught.value) == f"{path}, line 2: damaged; move the file away if it cannot be mended"


def test_no_file_has_no_lines_and_a_folder_is_none(tmp_path: Path) -> None:
    assert read_lines(tmp_path / "none") == []
    with pytest.raises(RunError, match="cannot be read: Is a directory"):
        read_lines(tmp_path)


def test_lines_may_hold_any_text(tmp_path: Path) -> None:
    record = {"text": "ü 語 🙂 \u2028 \x85 \r\n \x00 \x1c"}
    append_line(tmp_path / "f", record)
    append_line(tmp_path / "f", record)
    assert read_lines(tmp_path / "f") == [record, record]


def test_it_tells_where_each_line_begins(tmp_path: Path) -> None:
    end, texts = Appending(tmp_path / "deep" / "f"), ["one\n", "zwölf\n", "\n", "語\n"]
    places = [end.add(text) for text in texts[:2]]
    end.close()
    end.close()
    places += [end.add(text) for text in texts[2:]]  # opens it again
    end.sync()
    end.close()
    raw = end.path.read_bytes()
    assert [raw[a:b].decode() for a, b in zip(places, [*places[1:], None], strict=True)] == texts


@pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_one_clear_error() -> None:
    with closing(Appending(FULL)) as end:
        for _ in range(2):
            with pytest.raises(RunError, match=r"^/dev/full: cannot be written: No space left on device$"):
                end.add("a line\n")


NO_ROOM = """
import resource, sys
from pathlib import Path
from calibrator.errors import RunError
from calibrator.files import Appending

end = Appending(Path(sys.argv[1]))
end.add("first\\n")
resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
try:
    end.add("x" * 200 + "\\n")
except RunError as error:
    print(str(error).removeprefix(sys.argv[1]))
print(end.add("small\\n"))
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(end.add("last\\n"))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="this system does not limit files")
def test_half_a_line_for_which_there_was_no_room_is_taken_back(tmp_path: Path) -> None:
    """Else what is written once there is room again would stand behind it, and both would be lost."""
    path = tmp_path / "lines"
    done = subprocess.run(
        [sys.executable, "-c", NO_ROOM, str(path)], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.splitlines() == [": cannot be written: No space left on device", "6", "12"]
    assert path.read_text() == "first\nsmall\nlast\n"


def test_a_place_that_cannot_be_written_to_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    for path in (tmp_path, tmp_path / "file" / "below"):
        for write in (lambda p: append_line(p, {}), lambda p: Appending(p).add("x\n"), lambda p: write_whole(p, "x")):
            with pytest.raises(RunError, match="cannot be written: "):
                write(path)


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    write_whole(tmp_path / "deep" / "a.txt", "one")
    assert (tmp_path / "deep" / "a.txt").read_text() == "one"
    assert Run(tmp_path / "deep").write("a.txt", "three").read_text() == "three"
    assert sorted(p.name for p in (tmp_path / "deep").iterdir()) == ["a.txt"]


HOLD = """
import sys
from pathlib import Path
from calibrator.files import locked

with locked(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="this system holds no files")
@pytest.mark.parametrize("killed", [False, True])
def test_a_file_is_held_by_one_process_until_its_end_however_it_ends(tmp_path: Path, killed: bool) -> None:
    path = tmp_path / "deep" / "file"
    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdin is not None and other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(RunError, match=r"^another process has it$"), locked(path, "another process has it"):
            pass
        if killed:
            other.kill()
        other.stdin.close()
        other.wait(timeout=30)
    with locked(path, "another process has it"):
        pass
