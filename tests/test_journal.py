"""The journal of a run, and the tally of its calls."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrator.errors import RunError
from calibrator.files import read_lines
from calibrator.journal import Journal, Outlay, Tally
from tests.test_files import VALUES


def test_what_is_in_the_journal_is_not_worked_out_again(tmp_path: Path) -> None:
    calls = []

    def compute() -> list[float]:
        calls.append(1)
        return [0.1 + 0.2, 1e-17, 3]

    first = Journal(tmp_path / "j.jsonl").once("a", compute)
    again = Journal(tmp_path / "j.jsonl").once("a", compute)
    assert again == first == [0.1 + 0.2, 1e-17, 3]
    assert len(calls) == 1


def test_a_value_is_on_disk_before_it_is_used(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.jsonl")
    journal.once("a", lambda: 1)
    assert json.loads((tmp_path / "j.jsonl").read_text()) == {"key": "a", "value": 1}


@pytest.mark.parametrize("torn", ['{"key": "b", "val', '{"key"', "{", '{"key": "b", "value": 2}'])
def test_a_torn_last_line_is_cut_off_and_written_anew(tmp_path: Path, torn: str) -> None:
    path = tmp_path / "j.jsonl"
    Journal(path).once("a", lambda: 1)
    with path.open("a") as file:
        file.write(torn)
    journal = Journal(path)
    assert len(journal) == 1
    assert journal.once("b", lambda: 3) == 3
    assert [r["key"] for r in read_lines(path)] == ["a", "b"]


def test_a_line_damaged_in_the_middle_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    path.write_text('{"key": "a", "value": 1}\n{"key\n{"key": "c", "value": 1}\n')
    with pytest.raises(RunError, match="line 2"):
        Journal(path)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abcde"), VALUES), max_size=12), st.integers(0, 10**6))
def test_wherever_it_is_torn_the_rest_is_there_and_writing_goes_on(puts: list[tuple[str, Any]], cut: int) -> None:
    """The last value of a key counts; and so after another kill."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "j.jsonl"
        path.touch()
        journal = Journal(path)
        for key, value in puts:
            journal.put(key, value)
        assert {key: journal.get(key) for key in "abcde"} == {key: dict(puts).get(key) for key in "abcde"}
        journal.close()
        whole = path.read_bytes()
        left = whole[: cut % (len(whole) + 1)]
        path.write_bytes(left)

        kept = dict(puts[: left.count(b"\n")])
        again = Journal(path)
        assert dict(again.items()) == kept and len(again) == len(kept)
        assert {key: again.get(key) for key in kept} == kept
        again.put("a", "new")
        again.put("f", "more")
        kept |= {"a": "new", "f": "more"}
        for opened in (again, Journal(path)):
            assert dict(opened.items()) == kept
        again.close()


def test_keys_come_in_the_order_in_which_their_last_value_was_written(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.jsonl")
    for key in "abcab":
        journal.put(key, f"value of {key}")
    assert [key for key, _ in journal.items()] == ["c", "a", "b"]
    assert (len(journal), journal.get("d")) == (3, None)
    journal.close()


@pytest.mark.parametrize("size", [65_535, 1_000_000])
def test_large_values_come_back_as_they_were(tmp_path: Path, size: int) -> None:
    journal = Journal(tmp_path / "j.jsonl")
    values = {f"{n}": {"text": f"{n}语\n" * (size // 5)} for n in range(4)}
    for key, value in values.items():
        journal.put(key, value)
    for opened in (journal, Journal(journal.path)):
        assert {key: opened.get(key) for key in values} == values == dict(opened.items())
    journal.close()


def test_only_what_is_missing_is_worked_out_and_each_is_on_disk_before_it_is_used(tmp_path: Path) -> None:
    journal, asked = Journal(tmp_path / "j.jsonl"), list[Sequence[int]]()
    journal.put("b", "was there")

    def compute(missing: Sequence[int]) -> Iterator[str]:
        asked.append(missing)
        return (f"new {place}" for place in missing)

    given_ = journal.each(["a", "b", "c"], compute)
    assert next(given_) == "new 0"
    assert dict(Journal(journal.path).items()) == {"b": "was there", "a": "new 0"}  # as after a kill
    assert list(given_) == ["was there", "new 2"]
    assert list(journal.each(["c", "a", "b"], compute)) == ["new 2", "new 0", "was there"]
    assert asked == [[0, 2]]
    journal.close()


def test_it_is_closed_and_goes_on(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.jsonl")
    for key in "ab":
        journal.put(key, key)
        journal.close()
        journal.close()
    assert dict(Journal(journal.path).items()) == {"a": "a", "b": "b"}


def test_a_journal_that_another_process_has_changed_is_one_clear_error(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.jsonl")
    journal.put("a", 1)
    journal.close()
    journal.path.write_text("something else\n")
    with pytest.raises(RunError, match="not what it was; another process has changed it"):
        journal.get("a")


# --- the tally -------------------------------------------------------------------------------------------------------

AMOUNTS = st.one_of(st.none(), st.floats(0, 1000))
ENTRIES = st.lists(st.tuples(st.sampled_from(["call", "took"]), st.integers(-5000, 5000), AMOUNTS), max_size=12)


def enter(tally: Tally, entries: list[tuple[str, int, float | None]]) -> Outlay:
    """Enter calls and what they took, and return their sum."""
    for kind, tokens, usd in entries:
        (tally.call if kind == "call" else tally.settle)(tokens, usd)
    prices = [usd for _, _, usd in entries]
    known = sum(usd for usd in prices if usd is not None)
    calls = sum(kind == "call" for kind, _, _ in entries)
    return Outlay(calls, sum(tokens for _, tokens, _ in entries), None if None in prices else known)


def alike(one: Outlay, other: Outlay) -> bool:
    return (one.calls, one.tokens) == (other.calls, other.tokens) and one.usd == pytest.approx(other.usd)


@settings(max_examples=200, deadline=None)
@given(ENTRIES, st.integers(0, 10**6))
def test_wherever_a_tally_is_torn_the_whole_lines_count_and_it_goes_on(
    entries: list[tuple[str, int, float | None]], cut: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "calls"
        path.touch()
        tally = Tally(path)
        assert alike(enter(tally, entries), tally.total())
        tally.close()
        whole = path.read_bytes()
        left = whole[: cut % (len(whole) + 1)]
        path.write_bytes(left)
        there = entries[: left.count(b"\n")]

        again = Tally(path)
        assert alike(again.total(), enter(Tally(Path(folder) / "other"), there))
        more: tuple[str, int, float | None] = ("call", 7, 0.25)
        enter(again, [more])
        assert alike(Tally(path).total(), enter(Tally(Path(folder) / "another"), [*there, more]))
        again.close()


def test_an_empty_tally_has_nothing_and_one_price_that_is_not_known_makes_the_sum_unknown(tmp_path: Path) -> None:
    tally = Tally(tmp_path / "deep" / "calls")
    assert tally.total() == Outlay(0, 0, 0.0)
    tally.call(100, 0.5)
    assert tally.total() == Outlay(1, 100, 0.5)
    tally.settle(-40, None)
    tally.call(10, 0.25)
    assert tally.total() == Outlay(2, 70, None)
    tally.close()


@pytest.mark.parametrize(
    "line",
    ["call", "call 5", "call 5 0.1 more", "call five 0.1", "call 5 much", "paid 5 0.1", "call 5  0.1", "語 5 0.1"],
)
def test_a_damaged_tally_is_one_clear_error(tmp_path: Path, line: str) -> None:
    path = tmp_path / "calls"
    path.write_text(f"call 5 0.1\n{line}\ncall 5 0.1\n", encoding="utf-8")
    with pytest.raises(RunError, match="calls: not readable: ") as caught:
        Tally(path).total()
    assert "\n" not in str(caught.value)
