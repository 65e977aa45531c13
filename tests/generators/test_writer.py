"""What a model is called beside others of its name, and whose replies a journal holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from calibrator.errors import ConfigError
from calibrator.generators.writer import MADE_BY, Writer, difference, holds_work, take_up, writer_of
from calibrator.journal import Journal

NAME = "transformers/some/model"


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "journal.jsonl")


def adapter(folder: Path, content: str) -> str:
    folder.mkdir(parents=True)
    (folder / "adapter_config.json").write_text(content)
    return str(folder)


def test_arguments_that_change_replies_are_part_of_the_name() -> None:
    assert writer_of(NAME, {}) == Writer(NAME, NAME)
    assert writer_of(NAME, {"download": "yes", "device": "cpu", "top_p": "1.0"}).called == NAME
    given = {"top-p": "0.9", "download": "yes", "dtype": "float32", "template": "plain", "top_k": "5"}
    assert writer_of(NAME, given).called == f"{NAME}[dtype=float32;template=plain;top_k=5;top_p=0.9]"
    assert writer_of("http://127.0.0.1:9/v1#m", {}).called == "http://127.0.0.1:9/v1#m"
    with pytest.raises(ConfigError, match="top_q"):
        writer_of(NAME, {"top_q": "1"})


def test_an_adapter_is_called_by_its_folder_and_told_apart_by_its_files(tmp_path: Path) -> None:
    one, other = (adapter(tmp_path / run / "checkpoint-5", run) for run in ("first", "second"))
    called = [writer_of(NAME, {"adapter": folder}).called for folder in (one, other, one)]
    assert called[0] == called[2] != called[1]
    for name in called:
        assert name.startswith(f"{NAME}[adapter=checkpoint-5#") and str(tmp_path) not in name
    narrow = writer_of(NAME, {"adapter": one, "top_p": "0.9"}).called
    assert narrow == f"{called[0][:-1]};top_p=0.9]"


def test_replies_are_taken_up_by_the_model_that_gave_them(journal: Journal, tmp_path: Path) -> None:
    base, narrow = writer_of(NAME, {}), writer_of(NAME, {"top_p": "0.9"})
    assert take_up(journal, base) is None and not holds_work(journal)
    assert take_up(journal, narrow) is None  # nothing came yet
    journal.put("examples/x", [[1]])
    assert take_up(journal, base) is None
    journal.put("reply/x", {})
    assert holds_work(journal)
    again = Journal(journal.path)
    assert take_up(again, base) is None
    assert take_up(again, writer_of(NAME, {"device": "cpu"})) is None
    assert take_up(again, narrow) == "were written without top_p (--model-arg)"
    assert again.get(MADE_BY)["identity"] == base.identity  # as it was
    tuned = writer_of(NAME, {"adapter": adapter(tmp_path / "tuned", "x"), "top_p": "0.8"})
    assert difference(again, tuned) == "were written without adapter, without top_p (--model-arg)"
    assert difference(again, writer_of("transformers/other", {})) == f"are those of {NAME}, not of transformers/other"


def test_it_says_what_differs(journal: Journal) -> None:
    take_up(journal, writer_of(NAME, {"top_p": "0.9", "top_k": "5"}))
    journal.put("reply/x", {})
    told = difference(journal, writer_of(NAME, {"top_p": "0.8"}))
    assert told == "were written with top_k=5, with top_p=0.9, not 0.8 (--model-arg)"
    assert "its files, or where it is served, have changed" in (
        difference(journal, Writer(NAME, "other", {"top_p": "0.9", "top_k": "5"})) or ""
    )


def test_replies_without_a_name_are_nobodys(journal: Journal) -> None:
    journal.put("reply/x", {})
    assert take_up(journal, writer_of(NAME, {})) == "do not say which model wrote them"
