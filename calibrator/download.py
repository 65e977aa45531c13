"""Fetching a named public data set: a manifest says which files of a repository, at one commit, become which.

The first download is taken on trust: its SHA-256 goes into `digests.json` beside the files, and other
content at the same place is refused from then on unless the caller accepts the change. A file replaces an
older one only when it is complete and is the CSV that the manifest describes.
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
import http.client
import json
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from calibrator.errors import DataError, DownloadError
from calibrator.validation import checked, load_yaml

DIGESTS = "digests.json"
_LIMIT_BYTES = 200 * 1000 * 1000
_TIMEOUT_S = 60.0
_WAITS_S = (0.25, 0.5, 1.0)  # before each retry of a transport fault


class ManifestFile(BaseModel):
    """One file: where it lies in the repository, what it is called here and what is done to its columns.

    `rename` maps a column's name here to its name there; `drop` names columns there that are left out; all
    others are kept. `required` names columns there without which the file is not the one meant.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    path: str = Field(pattern=r"^[A-Za-z0-9]")
    target: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*\.csv$")
    rename: dict[str, str] = Field(default_factory=dict)
    drop: tuple[str, ...] = ()
    required: tuple[str, ...] = Field(min_length=1)


class Manifest(BaseModel):
    """A named public data set: a repository at a pinned commit, and the files taken from it."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]*$")
    title: str
    repository: str = Field(pattern=r"^[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+$")
    commit: str = Field(pattern=r"^[0-9a-f]{40}$")
    licence: str
    citation: str
    files: tuple[ManifestFile, ...] = Field(min_length=1)

    def url(self, entry: ManifestFile, base_url: str | None = None) -> str:
        """Return the address of a file; `base_url` replaces everything before its path in the repository."""
        base = base_url or f"https://raw.githubusercontent.com/{self.repository}/{self.commit}"
        return f"{base.rstrip('/')}/{urllib.parse.quote(entry.path)}"


class _TransportError(Exception):
    """The connection failed or broke off; the same request may succeed."""


def load_manifest(path: Path) -> Manifest:
    """Read a manifest, a YAML file as in `data/catalog/`.

    Raises:
        DataError: the file cannot be read or is not a manifest.
    """
    return checked(Manifest, load_yaml(path, DataError), path, DataError, "not a usable manifest: ")


def fetch(
    manifest: Manifest,
    data_dir: Path,
    *,
    base_url: str | None = None,
    report: Callable[[str], None] | None = None,
    force: bool = False,
    accept_change: bool = False,
) -> list[Path]:
    """Download the files of a data set into `<data_dir>/<name>/`, each checked before it is put in place.

    Args:
        manifest: what to download.
        data_dir: the folder of all data sets; created where it is missing.
        base_url: a mirror; replaces everything before the files' paths.
        report: called with a line for each file that is fetched or was there already.
        force: download also what is there already.
        accept_change: take content other than what was downloaded before, and record its digest.

    Returns:
        The files of the data set, in the manifest's order.

    Raises:
        DownloadError: the network, the server or the folder failed, or a file is not what it was at first.
        DataError: what came is not the CSV that the manifest describes; an older file stays as it was.
    """
    folder = data_dir / manifest.name
    tell = report or (lambda _: None)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for entry in manifest.files:
            source = f"{manifest.repository}@{manifest.commit}:{entry.path}"
            seen = _seen(folder).get(entry.target, {})
            known = seen.get("sha256") if seen.get("source") == source else None
            if known and not force and (folder / entry.target).is_file():
                tell(f"{entry.target}: already there, not fetched again")
                continue
            url = manifest.url(entry, base_url)
            tell(f"{entry.target}: fetching {url}")
            digest = _install(entry, url, folder, None if accept_change else known)
            _remember(folder, entry.target, {"source": source, "sha256": digest})
    except OSError as exc:
        raise DownloadError(f"cannot write to {folder}: {exc}; name a folder that can be written to") from exc
    return [folder / entry.target for entry in manifest.files]


def _install(entry: ManifestFile, url: str, folder: Path, known: str | None) -> str:
    """Download one file and put it in place if it is good; return the SHA-256 of what was downloaded."""
    with tempfile.TemporaryDirectory(dir=folder, prefix=".download-") as scratch:
        raw, converted = Path(scratch, "raw"), Path(scratch, "converted")
        digest = _download(url, raw, by_hand=folder / entry.target)
        _convert(entry, raw, converted)
        if known and digest != known:
            raise DownloadError(
                f"{url} changed since it was first downloaded: SHA-256 {digest}, recorded {known}"
                f" in {folder / DIGESTS}. The file was not replaced; if you trust it: --accept-change."
            )
        (converted if entry.rename or entry.drop else raw).replace(folder / entry.target)
    return digest


def _download(url: str, into: Path, by_hand: Path) -> str:
    """Write what `url` answers to `into` and return its SHA-256; transport faults are retried."""
    if urllib.parse.urlsplit(url).scheme not in {"http", "https"}:
        raise DownloadError(f"{url}: only http and https addresses are fetched")
    for wait in (0.0, *_WAITS_S):
        time.sleep(wait)
        try:
            return _receive(url, into)
        except urllib.error.HTTPError as exc:
            exc.close()
            fault = f"{url} answered HTTP {exc.code} ({exc.reason})"
            if exc.code < 500 and exc.code != 429:
                break
        except _TransportError as exc:
            fault = f"{url} could not be fetched: {exc}"
    hint = f"Check the network and its proxy (HTTPS_PROXY), or put the file by hand at {by_hand}"
    raise DownloadError(f"{fault}. {hint}")


def _receive(url: str, into: Path) -> str:
    """Make one attempt to download, and return the SHA-256."""
    digest, size = hashlib.sha256(), 0
    with into.open("wb") as file, contextlib.closing(_chunks(url)) as chunks:
        for chunk in chunks:
            size += len(chunk)
            if size > _LIMIT_BYTES:
                raise DownloadError(f"{url} is larger than {_LIMIT_BYTES:,} bytes: not the file expected")
            digest.update(chunk)
            file.write(chunk)
    return digest.hexdigest()


def _chunks(url: str) -> Generator[bytes, None, None]:
    """Yield the body that `url` answers, and see to it that it is complete."""
    request = urllib.request.Request(url, headers={"User-Agent": "calibrator"})
    try:
        with _opener().open(request, timeout=_TIMEOUT_S) as response:
            while chunk := response.read(1 << 16):
                yield chunk
            if response.length:  # what Content-Length still promised; a short body raises nothing by itself
                raise _TransportError(f"the answer broke off {response.length} bytes before its end")
    except urllib.error.HTTPError:
        raise
    except (OSError, http.client.HTTPException) as exc:
        raise _TransportError(str(exc) or type(exc).__name__) from exc


def _opener() -> urllib.request.OpenerDirector:
    """Return an opener of http and https only, also after a redirect (the usual one reads ftp and files)."""
    opener, web = urllib.request.OpenerDirector(), urllib.request
    handlers: list[urllib.request.BaseHandler] = [web.ProxyHandler(), web.HTTPHandler(), web.HTTPSHandler()]
    handlers += [web.HTTPRedirectHandler(), web.HTTPDefaultErrorHandler(), web.HTTPErrorProcessor()]
    for handler in (*handlers, web.UnknownHandler()):
        opener.add_handler(handler)
    return opener


def _convert(entry: ManifestFile, raw: Path, to: Path) -> None:
    """Check that `raw` is the CSV expected, to its last row, and write it with the columns it has here."""
    here = {there: name for name, there in entry.rename.items()}
    with raw.open(encoding="utf-8-sig", newline="") as old, to.open("w", encoding="utf-8", newline="") as new:
        rows, writer = _rows(entry, old), csv.writer(new, lineterminator="\n")
        header = next(rows)
        for column in (*entry.required, *entry.rename.values()):
            if column not in header:
                raise DataError("the public file has no such column", file=entry.path, column=column)
        kept = [place for place, column in enumerate(header) if column not in entry.drop]
        writer.writerow(here.get(header[place], header[place]) for place in kept)
        writer.writerows([row[place] for place in kept] for row in rows)


def _rows(entry: ManifestFile, lines: Iterable[str]) -> Iterator[list[str]]:
    """Yield the header and the rows of a CSV, all of one width; at least one row follows the header."""
    number, width = 0, 0
    try:
        for number, row in enumerate(filter(None, csv.reader(lines, strict=True)), start=1):  # no blank lines
            width = width or len(row)
            if number == 1 and row[0].lstrip().startswith("<"):
                raise DataError("a web page came instead of CSV; a proxy or login page?", file=entry.path)
            if len(row) != width:
                raise DataError(f"{len(row)} cells where the header has {width}", file=entry.path, row=number)
            yield row
    except (csv.Error, UnicodeDecodeError) as exc:
        raise DataError(f"not CSV in UTF-8: {exc}", file=entry.path, row=number + 1) from exc
    if number < 2:
        raise DataError("the public file has no rows", file=entry.path)


def _seen(folder: Path) -> dict[str, dict[str, str]]:
    """Read what was downloaded into a folder: of each file its source and SHA-256."""
    file = folder / DIGESTS
    if not file.exists():
        return {}
    try:
        return TypeAdapter(dict[str, dict[str, str]]).validate_json(file.read_bytes())
    except ValidationError as exc:
        raise DataError("not a record of downloads; delete it to start a new one", file=file) from exc


def _remember(folder: Path, target: str, seen: dict[str, str]) -> None:
    """Record one download, at once or not at all."""
    with tempfile.TemporaryDirectory(dir=folder, prefix=".download-") as scratch:
        file = Path(scratch, DIGESTS)
        record = {**_seen(folder), target: seen}
        file.write_text(json.dumps(record, indent=2, sort_keys=True) + "\n", encoding="utf-8")
        file.replace(folder / DIGESTS)
