"""Every error the package raises on purpose, as one tree.

The message is for the person at the terminal: what is wrong, where, and what to do about it.

    CalibratorError            anything below; the command line prints it as one line and exits with `exit_code`
    ├── InputError             what the user gave cannot be used as it is
    │   ├── DataError          a data file: names file, row and column
    │   ├── AspectError        an unknown or malformed aspect
    │   └── ConfigError        an option or a configuration file
    ├── RubricError            a frozen judge that is missing, malformed, tampered with or of another version
    ├── RunError               a run that is missing, unfinished or cannot be resumed
    ├── DownloadError          a public data set that could not be fetched (retryable)
    ├── ModelError             a model that cannot be asked, or answers with an error
    │   ├── ModelUnfit         a model that cannot do what is asked of it: other settings are needed
    │   ├── ModelMissing       a package, file or setting is absent; the message has the command that provides it
    │   └── ModelUnavailable   a fault that may pass: no connection, overload, a reply broken off (retryable)
    ├── CacheError             a stored reply that this program did not write
    ├── BudgetSpent            the cap on calls is reached; the run can be resumed with a higher one
    ├── CalibrationError       no candidate is fit to be handed over
    └── ScoringFailed          one text has no score; carries the reason
"""

from __future__ import annotations

from pathlib import Path


class CalibratorError(Exception):
    """Base of all errors of this package.

    `exit_code` is what the command line exits with; `retryable` says whether the same call may succeed later.
    """

    exit_code: int = 2
    retryable: bool = False


class InputError(CalibratorError):
    """What the user gave cannot be used as it is."""


class DataError(InputError):
    """A data file cannot be used; the message names the file and, where they are known, row and column.

    Rows are counted as a spreadsheet shows them: in CSV the header is row 1; in JSONL and Parquet the first
    record is row 1.
    """

    def __init__(
        self,
        message: str,
        *,
        file: Path | str | None = None,
        row: int | None = None,
        column: str | None = None,
    ) -> None:
        self.problem, self.file, self.row, self.column = message, file, row, column
        place = [str(file)] if file is not None else []
        if row is not None:
            place.append(f"row {row}")
        if column is not None:
            place.append(f"column '{column}'")
        super().__init__(f"{', '.join(place)}: {message}" if place else message)


class AspectError(InputError):
    """An aspect does not exist or its definition is malformed."""


class ConfigError(InputError):
    """An option or a configuration file does not make sense."""


class RubricError(CalibratorError):
    """A frozen judge is missing, malformed, was changed after freezing, or needs another version."""


class RunError(CalibratorError):
    """A run is missing, or cannot be resumed."""


class DownloadError(CalibratorError):
    """A public data set could not be fetched."""

    exit_code = 1
    retryable = True


class ModelError(CalibratorError):
    """A model cannot be asked, or its server answers with an error that asking again would not mend."""

    exit_code = 1


class ModelMissing(ModelError):  # noqa: N818 - says what is the matter
    """A package, a file or a setting that a model needs is absent; the message has the command that provides it."""

    exit_code = 2


class ModelUnfit(ModelError):  # noqa: N818 - says what is the matter
    """A model cannot do what is asked of it, now or later: other settings are needed, not another try."""

    exit_code = 2


class ModelUnavailable(ModelError):  # noqa: N818 - says what is the matter
    """A fault that may pass.

    `retry_after` is how many seconds the server asked to wait, None if it did not say; `overload` that fewer requests
    at a time may help; `charged` that the request may have been worked on, and be paid for, all the same.
    """

    retryable = True

    def __init__(
        self, message: str, retry_after: float | None = None, *, overload: bool = False, charged: bool = True
    ) -> None:
        self.retry_after, self.overload, self.charged = retry_after, overload, charged
        super().__init__(message)

    def told(self, message: str) -> ModelUnavailable:
        """Return the same fault in other words."""
        return ModelUnavailable(message, self.retry_after, overload=self.overload, charged=self.charged)


class CacheError(CalibratorError):
    """The cache of replies cannot be used, or holds what this program did not write."""


class BudgetSpent(CalibratorError):  # noqa: N818 - says what is the matter
    """The cap on calls is reached. Nothing is lost: the run can be resumed with a higher one."""

    exit_code = 3


class CalibrationError(CalibratorError):
    """The calibration came to an end without a rubric that may be handed over."""

    exit_code = 1


class ScoringFailed(CalibratorError):  # noqa: N818 - reads as what happened to the text, which is no fault of the program
    """A text has no score. `reason` says why; a failure is never turned into a number."""

    exit_code = 1

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"no score: {reason}")
