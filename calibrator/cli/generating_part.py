"""What lies beside a file of texts until it is written: whose replies these are, and when they are kept."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from calibrator.cli.keeping import KEPT, kept_until_done
from calibrator.errors import BudgetSpent, ConfigError, ModelError, ModelMissing
from calibrator.generators.writer import Writer, difference, holds_work, take_up, writer_of
from calibrator.journal import Journal
from calibrator.models.build import Access
from calibrator.report.console import tell_aside
from calibrator.store import Run


@contextmanager
def journal_of(part: Run, writer: Writer, *, overwrite: bool) -> Iterator[Journal]:
    """Give the journal, held, of a file that is being written; once that is done it is removed.

    After an error it stays if there is work in it, and after a spent budget, since what was spent stands beside it.
    Raises ConfigError if the replies in it are another model's; with `overwrite` they are removed.
    """
    with kept_until_done(part):
        journal = part.journal()
        differing = take_up(journal, writer)
        if differing is not None and overwrite:
            tell_aside([f"{part.folder}: the replies in it {differing}; they are removed (--overwrite)"])
            _emptied(part, journal)
            journal = part.journal()
            differing = take_up(journal, writer)
        if differing is not None:
            raise ConfigError(_refusal(part, differing))
        try:
            yield journal
        except BudgetSpent:
            raise
        except BaseException:
            if not holds_work(journal):
                _emptied(part, journal)
            raise


@contextmanager
def looked_at(part: Run, model: str, access: Access, *, overwrite: bool) -> Iterator[Journal]:
    """Give the journal that is there, and leave it there; an empty one that passes if there is none to go on with.

    Raises ConfigError if the replies in it are another model's, as far as can be seen without asking the model.
    """
    if part.folder.exists():
        with part.held():
            journal = part.journal()
            differing = _seen(journal, model, access)
            if differing is None:
                yield journal
                return
            if not overwrite:
                raise ConfigError(_refusal(part, differing))
    with tempfile.TemporaryDirectory() as passing:
        yield Journal(Path(passing) / "journal.jsonl")


def told_kept(part: Run, error: BudgetSpent | ModelError) -> str:
    """Return an error with what becomes of the replies that came."""
    if not part.folder.exists():
        return str(error)
    higher = ", with a higher --budget" if isinstance(error, BudgetSpent) else ""
    return f"{error}; {KEPT if holds_work(part.journal()) else 'no reply came: the same command goes on'}{higher}"


def _seen(journal: Journal, model: str, access: Access) -> str | None:
    try:
        return difference(journal, writer_of(model, access.arguments))
    except ModelMissing:  # such as a key, which is not needed to look
        return None


def _emptied(part: Run, journal: Journal) -> None:
    """Take everything out of a journal that is held, and what its calls took."""
    journal.close()
    journal.path.write_bytes(b"")  # the file itself is what is held
    (part.folder / "calls").unlink(missing_ok=True)


def _refusal(part: Run, differing: str) -> str:
    return f"{part.folder}: the replies in it {differing}; go on with the same model and arguments, or say --overwrite"
