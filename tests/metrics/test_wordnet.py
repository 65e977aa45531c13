"""WordNet for NLTK: made of files in the form of Debian's packages, found, and refused with one clear line."""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from calibrator.errors import ConfigError, ModelError, ModelMissing
from calibrator.metrics.wordnet import FILES, LEXICOGRAPHERS, install, lexnames, nltk_folder, open_wordnet
from tests.conftest import Calibrate
from tests.doubles.wordnet import write_wordnet


@pytest.fixture
def origin(tmp_path: Path) -> Path:
    return write_wordnet(tmp_path / "debian")


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """A machine whose NLTK has no data; gives the data folder, which is empty."""
    import nltk.data

    monkeypatch.setattr(nltk.data, "path", [])
    monkeypatch.delenv("NLTK_DATA", raising=False)
    monkeypatch.setenv("CALIBRATOR_DATA", str(tmp_path / "sets"))
    yield tmp_path / "sets"


def silent(_: str) -> None:
    """Say nothing."""


def synonyms(reader: Any, word: str) -> set[str]:
    return {lemma.name() for synset in reader.synsets(word) for lemma in synset.lemmas()}


def test_lexnames_has_the_numbers_names_and_codes_of_the_manual() -> None:
    lines = [line.split("\t") for line in lexnames().splitlines()]
    assert [int(number) for number, _, _ in lines] == list(range(45))
    assert lines[0] == ["00", "adj.all", "3"]
    assert lines[2] == ["02", "adv.all", "4"]
    assert lines[3] == ["03", "noun.Tops", "1"]
    assert lines[18] == ["18", "noun.person", "1"]
    assert lines[28] == ["28", "noun.time", "1"]
    assert lines[29] == ["29", "verb.body", "2"]
    assert lines[43] == ["43", "verb.weather", "2"]
    assert lines[44] == ["44", "adj.ppl", "3"]
    assert len(set(LEXICOGRAPHERS)) == 45


def test_the_files_are_copied_with_lexnames_and_nobody_else_may_write(origin: Path, tmp_path: Path) -> None:
    said: list[str] = []
    before = os.umask(0)
    try:
        made = install(tmp_path / "nltk_data", said.append, origin=origin)
    finally:
        os.umask(before)
    assert made == tmp_path / "nltk_data" / "corpora" / "wordnet"
    assert {p.name for p in made.iterdir()} == {*FILES, "lexnames", "sizes.json"}
    for name in FILES:
        assert (made / name).read_bytes() == (origin / name).read_bytes()
        assert not (made / name).is_symlink()
        assert not (made / name).samefile(origin / name)
    assert (made / "lexnames").read_bytes().decode() == lexnames()
    for path in (*made.iterdir(), made, made.parent, made.parent.parent):
        assert path.stat().st_mode & 0o022 == 0, path
    assert len(said) == 1
    assert str(origin) in said[0]
    assert [p.name for p in made.parent.iterdir()] == ["wordnet"]


def test_what_is_there_is_left_and_made_anew_on_demand(origin: Path, tmp_path: Path) -> None:
    made = install(tmp_path, silent, origin=origin)
    (origin / "adv.exc").write_text("best well\nmost much\n", encoding="ascii")
    said: list[str] = []
    install(tmp_path, said.append, origin=tmp_path / "gone")
    assert said == [f"WordNet is there: {made}"]
    assert "much" not in (made / "adv.exc").read_text(encoding="ascii")
    install(tmp_path, silent, origin=origin, again=True)
    assert "much" in (made / "adv.exc").read_text(encoding="ascii")
    (made / "lexnames").unlink()  # no longer whole: made anew unasked
    install(tmp_path, silent, origin=origin)
    assert (made / "lexnames").exists()


def test_without_the_packages_one_line_names_them(origin: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelMissing, match=r"not in .*none; .*apt-get install wordnet-base wordnet-sense-index"):
        install(tmp_path / "n", silent, origin=tmp_path / "none")
    (origin / "index.sense").unlink()  # wordnet-base without the other
    with pytest.raises(ModelMissing, match=r"lacks index.sense; .*apt-get install"):
        install(tmp_path / "n", silent, origin=origin)
    assert not (tmp_path / "n").exists()


def test_a_copy_that_breaks_off_leaves_nothing(origin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copied: list[Path] = []

    def full(source: Path, target: Path) -> None:
        copied.append(source)
        if len(copied) == 5:
            raise OSError(28, "No space left on device")
        target.write_bytes(source.read_bytes())

    with monkeypatch.context() as patch:
        patch.setattr("calibrator.metrics.wordnet.shutil.copyfile", full)
        with pytest.raises(ConfigError, match="cannot be written: No space left on device"):
            install(tmp_path / "n", silent, origin=origin)
    assert list((tmp_path / "n" / "corpora").iterdir()) == []


def test_it_is_found_in_the_folder_that_was_named(origin: Path, tmp_path: Path, bare: Path) -> None:
    install(tmp_path / "mine", silent, origin=origin)
    reader = open_wordnet(tmp_path / "mine", "METEOR")
    assert synonyms(reader, "car") == {"car", "auto", "automobile"}
    assert synonyms(reader, "cars") == {"car", "auto", "automobile"}
    assert synonyms(reader, "better") == {"good"}  # of adj.exc
    assert reader.synsets("auto")[0].lexname() == "noun.artifact"
    assert synonyms(reader, "banana") == set()


def test_it_is_found_in_the_data_folder_and_in_nltks_own(
    origin: Path, tmp_path: Path, bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import nltk.data

    install(nltk_folder(), silent, origin=origin)
    assert nltk_folder() == bare / "nltk_data"
    assert synonyms(open_wordnet(None, "METEOR"), "help") == {"help", "aid"}
    monkeypatch.setenv("CALIBRATOR_DATA", str(tmp_path / "elsewhere"))
    monkeypatch.setattr(nltk.data, "path", [str(nltk_folder(bare))])
    assert synonyms(open_wordnet(None, "METEOR"), "help") == {"help", "aid"}


def test_the_archive_that_nltks_downloader_leaves_is_read_too(origin: Path, tmp_path: Path, bare: Path) -> None:
    made = install(tmp_path / "mine", silent, origin=origin)
    with zipfile.ZipFile(made.parent / "wordnet.zip", "w") as archive:
        for path in sorted(made.iterdir()):
            archive.write(path, f"wordnet/{path.name}")
    shutil.rmtree(made)
    (made.parent / "wordnet.zip").chmod(0o644)
    assert synonyms(open_wordnet(tmp_path / "mine", "METEOR"), "big") == {"big", "large"}


def test_where_it_is_absent_one_line_says_how_to_get_it(bare: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelMissing) as raised:
        open_wordnet(tmp_path, "METEOR")
    said = str(raised.value)
    assert "\n" not in said
    assert said.startswith("METEOR needs WordNet")
    assert "`calibrate data get wordnet`" in said
    assert "python -m nltk.downloader wordnet" in said


@pytest.mark.skipif(os.name != "posix", reason="NLTK looks at the rights of files on POSIX only")
def test_what_nltk_refuses_to_read_is_said_and_mended(origin: Path, tmp_path: Path, bare: Path) -> None:
    pathsec = pytest.importorskip("nltk.pathsec", reason="this NLTK reads files that others may write to")
    assert pathsec.ENFORCE
    made = install(tmp_path / "mine", silent, origin=origin)
    (made / "data.noun").chmod(0o666)
    with pytest.raises(ModelMissing, match="writable by"):
        open_wordnet(tmp_path / "mine", "METEOR")
    install(tmp_path / "mine", silent, origin=origin)
    assert synonyms(open_wordnet(tmp_path / "mine", "METEOR"), "aid") == {"help", "aid"}


@pytest.mark.parametrize("damage", ["lexnames", "index.noun", "data.adj"])
def test_a_damaged_one_is_an_error_of_one_line(origin: Path, tmp_path: Path, bare: Path, damage: str) -> None:
    made = install(tmp_path / "mine", silent, origin=origin)
    if damage == "data.adj":
        (made / damage).unlink()
    else:
        (made / damage).write_text("neither number nor name\n", encoding="ascii")
    with pytest.raises(ModelError, match="is damaged; get it again: calibrate data get wordnet") as raised:
        open_wordnet(tmp_path / "mine", "METEOR")
    assert "\n" not in str(raised.value)
    (made / "sizes.json").unlink()  # as in a folder that was made by other means
    with pytest.raises(ModelError, match="cannot be read") as raised:
        open_wordnet(tmp_path / "mine", "METEOR")
    assert "\n" not in str(raised.value)


def test_one_that_was_cut_short_is_not_taken_for_wordnet_and_mended(origin: Path, tmp_path: Path, bare: Path) -> None:
    made = install(tmp_path / "mine", silent, origin=origin)
    whole = (made / "index.noun").read_bytes()
    (made / "index.noun").write_bytes(whole[: len(whole) // 2])  # NLTK would read it, and know half of the words
    with pytest.raises(ModelError, match="is damaged"):
        open_wordnet(tmp_path / "mine", "METEOR")
    install(tmp_path / "mine", silent, origin=origin)
    assert (made / "index.noun").read_bytes() == whole


def test_the_command_makes_it_once(calibrate: Calibrate, origin: Path, tmp_path: Path) -> None:
    here = ("data", "get", "wordnet", "--data-dir", tmp_path / "sets")
    first = calibrate(*here, env={"WNSEARCHDIR": str(origin)})
    assert first.returncode == 0, first.stderr
    made = tmp_path / "sets" / "nltk_data" / "corpora" / "wordnet"
    assert str(made) in first.stdout
    assert (made / "lexnames").exists()
    second = calibrate(*here, env={"WNSEARCHDIR": str(tmp_path / "gone")})
    assert (second.returncode, second.stdout) == (0, f"WordNet is there: {made}\n")
    forced = calibrate(*here, "--force", env={"WNSEARCHDIR": str(tmp_path / "gone")})
    assert forced.returncode == 2
    assert "apt-get install wordnet-base wordnet-sense-index" in forced.stderr
    assert len(forced.stderr.splitlines()) == 1
    mirrored = calibrate(*here, "--base-url", "http://127.0.0.1:9/")
    assert mirrored.returncode == 2
    assert "--base-url" in mirrored.stderr
