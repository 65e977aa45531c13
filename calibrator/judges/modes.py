"""Score modes: how the score of an item is read from what a model replied to it.

"text" takes the number that the reply states; "expected" the mean over all numbers it might have stated, from
log-probabilities (`expected.py`); "sample:n" the mean over n replies drawn at a temperature, for models that give no
log-probabilities (both as in G-Eval, Liu et al. 2023). The mode stands in every judgment: figures of different modes
are not comparable.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from calibrator.aspects import Scale
from calibrator.errors import ConfigError
from calibrator.judges.expected import ExpectedMode, read_reply
from calibrator.judges.parsing import Found, NoScore
from calibrator.judges.statements import Form
from calibrator.models.base import ChatReply

SAMPLE_TEMPERATURE = 1.0  # G-Eval's, which draws 20
FEWEST, MOST = 2, 100  # draws of "sample:n"
_SAMPLE = re.compile(r"sample:([0-9]{1,3})")


class ScoreMode(Protocol):
    """How an item's score is read from its replies."""

    @property
    def name(self) -> str:
        """As it stands in every judgment: "text", "expected", "sample:5"."""

    @property
    def draws(self) -> int:
        """How many replies an item needs."""

    @property
    def logprobs(self) -> int:
        """How many alternatives of each token are wanted with their log-probabilities; 0: none."""

    def read(self, replies: Sequence[ChatReply], scale: Scale, names: Collection[str]) -> Found | NoScore:
        """Return the score on `scale` that the replies to one item give, or why they give none.

        The replies stand in the order of their draw, `draws` of them. `names`: what the score may be called besides
        "score" and "rating".
        """


@dataclass(frozen=True, slots=True)
class TextMode:
    """The score that the reply states."""

    name: ClassVar[str] = "text"
    draws: ClassVar[int] = 1
    logprobs: ClassVar[int] = 0

    def read(self, replies: Sequence[ChatReply], scale: Scale, names: Collection[str]) -> Found | NoScore:
        """Return the score that the one reply states, or why it states none."""
        return read_reply(replies[0], scale, names)


@dataclass(frozen=True, slots=True)
class SampleMode:
    """The mean of the scores that `n` replies state, drawn at a temperature (`SAMPLE_TEMPERATURE` unless told)."""

    n: int
    logprobs: ClassVar[int] = 0

    @property
    def name(self) -> str:
        """ "sample:n"."""
        return f"sample:{self.n}"

    @property
    def draws(self) -> int:
        """As many as it averages."""
        return self.n

    def read(self, replies: Sequence[ChatReply], scale: Scale, names: Collection[str]) -> Found | NoScore:
        """Return the mean score; less than half of the draws with a score give none, for the commonest reason."""
        read = [read_reply(reply, scale, names) for reply in replies]
        found = [r for r in read if isinstance(r, Found)]
        if not found or 2 * len(found) < len(read):
            return Counter(r for r in read if isinstance(r, NoScore)).most_common(1)[0][0]
        scores = [f.score for f in found]
        mean = math.fsum(scores) / len(scores)
        form: Form = "json" if all(f.form == "json" for f in found) else "stated"
        return Found(min(max(mean, min(scores)), max(scores)), form)  # rounding must not carry it off the scale


def parse_mode(text: str) -> ScoreMode:
    """Return the mode of a name. Raises ConfigError, with the forms there are, if it is none."""
    if text == TextMode.name:
        return TextMode()
    if text == ExpectedMode.name:
        return ExpectedMode()
    sample = _SAMPLE.fullmatch(text)
    if sample and FEWEST <= int(sample[1]) <= MOST:
        return SampleMode(int(sample[1]))
    forms = f"text, expected, or sample:n with n from {FEWEST} to {MOST}, such as sample:20"
    raise ConfigError(f"--score-mode: {text!r} is none; write {forms}")
