"""WordNet for NLTK: found where NLTK's data lies, or made from the files of Debian's packages.

NLTK's corpus "wordnet" is WordNet 3.0, and so are Debian's `wordnet-base` and `wordnet-sense-index` (1:3.0). Those lack
one short file that NLTK wants, `lexnames`; its 45 lines follow from lexnames(5WN). The files are copied, not linked:
NLTK reads nothing that lies, links followed, outside the folders of its data, nor what other accounts may write to.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import warnings
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from calibrator.catalog import data_folder
from calibrator.errors import ConfigError, ModelError, ModelMissing
from calibrator.hub import required
from calibrator.metrics.base import OVERLAP

DEBIAN = Path("/usr/share/wordnet")
PACKAGES = "wordnet-base wordnet-sense-index"
CORPUS = Path("corpora") / "wordnet"
SIZES = "sizes.json"  # of the files, written down by `install`
_PARTS = ("adj", "adv", "noun", "verb")
# What NLTK's reader opens, but for `lexnames`.
FILES = (
    *(f"data.{part}" for part in _PARTS),
    *(f"index.{part}" for part in _PARTS),
    *(f"{part}.exc" for part in _PARTS),
    "index.sense",
    "cntlist.rev",
)
# The lexicographer files by number from 00 up, lexnames(5WN).
LEXICOGRAPHERS = (
    "adj.all adj.pert adv.all noun.Tops noun.act noun.animal noun.artifact noun.attribute noun.body "
    "noun.cognition noun.communication noun.event noun.feeling noun.food noun.group noun.location noun.motive "
    "noun.object noun.person noun.phenomenon noun.plant noun.possession noun.process noun.quantity noun.relation "
    "noun.shape noun.state noun.substance noun.time verb.body verb.change verb.cognition verb.communication "
    "verb.competition verb.consumption verb.contact verb.creation verb.emotion verb.motion verb.perception "
    "verb.possession verb.social verb.stative verb.weather adj.ppl"
).split()
_CODES = {"noun": 1, "verb": 2, "adj": 3, "adv": 4}


def lexnames() -> str:
    """Return the file `lexnames`: a line for each lexicographer file, with number, name and part of speech by tabs."""
    return "".join(f"{k:02d}\t{name}\t{_CODES[name.split('.')[0]]}\n" for k, name in enumerate(LEXICOGRAPHERS))


def nltk_folder(data_dir: Path | None = None) -> Path:
    """Return the folder of NLTK's data within the data folder, where `install` puts WordNet."""
    return data_folder(data_dir) / "nltk_data"


def install(folder: Path, tell: Callable[[str], None], *, origin: Path | None = None, again: bool = False) -> Path:
    """Make WordNet in a folder of NLTK's data; return where it is.

    `origin` has the files of the database: by default the folder that WordNet's own variable $WNSEARCHDIR names, else
    that of Debian's packages. What is there already is left as it is, unless `again`. `tell` is told what happened.
    Raises ModelMissing, with the command that provides them, if files are not there; ConfigError if the folder cannot
    be written to.
    """
    target = folder / CORPUS
    there = not again and _sizes(target) == _recorded(target)
    origin = origin or Path(os.environ.get("WNSEARCHDIR") or DEBIAN)
    absent = [name for name in FILES if not (origin / name).is_file()]
    if absent and not there:
        what = (
            f"the files of WordNet are not in {origin}" if len(absent) == len(FILES) else f"{origin} lacks {absent[0]}"
        )
        raise ModelMissing(f"{what}; they come with: apt-get install {PACKAGES} (or set $WNSEARCHDIR to their folder)")
    try:
        if not there:
            _copy(origin, target)
        _protect(folder, target)
    except OSError as error:
        raise ConfigError(f"{target} cannot be written: {error.strerror or error}") from None
    done = f"WordNet 3.0: {len(FILES)} files copied from {origin}, lexnames added"
    tell(f"{'WordNet is there' if there else done}: {target}")
    return target


def _copy(origin: Path, target: Path) -> None:
    """Put all files in place at once, so that a broken-off copy is never taken for WordNet."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="wordnet-", dir=target.parent) as scratch:
        made = Path(scratch) / "made"
        made.mkdir()
        for name in FILES:
            shutil.copyfile(origin / name, made / name)
        (made / "lexnames").write_text(lexnames(), encoding="ascii", newline="\n")
        (made / SIZES).write_text(json.dumps(_sizes(made)), encoding="ascii")
        if target.exists():
            target.rename(Path(scratch) / "old")
        made.rename(target)


def _sizes(folder: Path) -> dict[str, int]:
    """Return the size of each file of a database, in bytes; none for one that is not there."""
    paths = (folder / name for name in (*FILES, "lexnames"))
    return {path.name: path.stat().st_size for path in paths if path.is_file()}


def _recorded(folder: Path) -> dict[str, int] | None:
    """Return the sizes that `install` wrote down; None where it did not make the folder."""
    try:
        return {str(name): int(size) for name, size in json.loads((folder / SIZES).read_bytes()).items()}
    except (OSError, ValueError, AttributeError):
        return None


def _protect(folder: Path, target: Path) -> None:
    """Take the right to write from all other accounts: NLTK would refuse to read, as after a umask of 002."""
    for path in (folder, target.parent, target, *target.iterdir()):
        mode = path.stat().st_mode
        if mode & 0o022:
            path.chmod(mode & ~0o022)


def open_wordnet(nltk_data: Path | None, wants: str) -> Any:
    """Return NLTK's reader of WordNet, from `nltk_data`, NLTK's own folders ($NLTK_DATA), or the data folder.

    NLTK reads below the folders of `nltk.data.path` only, so those that are not among them are added there. Raises
    ModelMissing, which names what `wants` it and the commands that provide it, if it is nowhere; ModelError if it
    cannot be read.
    """
    data: Any = required("nltk.data", OVERLAP, wants)
    corpus: Any = required("nltk.corpus", OVERLAP, wants)
    wanted = [str(folder) for folder in (nltk_data, nltk_folder()) if folder is not None]
    data.path.extend(folder for folder in wanted if folder not in data.path)
    first = [str(nltk_data)] if nltk_data is not None else []
    root, refused = _found(data, [*first, *data.path])
    if root is None:
        how = "get it by `calibrate data get wordnet` or `python -m nltk.downloader wordnet`"
        why = f" ({refused})" if refused else ""
        raise ModelMissing(f"{wants} needs WordNet, which is not among NLTK's data{why}; {how}")
    folder = Path(str(root))
    if (sizes := _recorded(folder)) is not None and sizes != _sizes(folder):
        raise ModelError(f"WordNet in {root} is damaged; get it again: calibrate data get wordnet --force")
    languages = corpus.LazyCorpusLoader("omw-1.4", corpus.CorpusReader, r".*\.tab")  # never loaded: English only
    reader = corpus.WordNetCorpusReader.__new__(corpus.WordNetCorpusReader)
    try:
        reader.__init__(root, languages)
    except Exception as error:  # of many kinds: a file is absent, cut short, of another form, or may not be read
        _close(getattr(reader, "_data_file_map", {}))
        raise ModelError(f"WordNet in {root} cannot be read: {_line(error)}; remove it and get it again") from None
    weakref.finalize(reader, _close, getattr(reader, "_data_file_map", {}))
    return reader


def _close(files: Mapping[str, Any]) -> None:
    """Close what NLTK's reader leaves open: the data files, by part of speech."""
    for file in files.values():
        file.close()


def _found(data: Any, folders: list[str]) -> tuple[Any, str]:
    """Return where WordNet is, unpacked or in the archive that NLTK's downloader leaves, or what NLTK refused."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for name in ("corpora/wordnet", "corpora/wordnet.zip/wordnet/"):
            try:
                return data.find(name, folders), ""
            except LookupError:
                continue
    return None, _line(said[0].message) if said else ""


def _line(error: object) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__
