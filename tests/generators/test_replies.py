"""What a model replied: a text, or the reason why there is none."""

from __future__ import annotations

import pytest

from calibrator.generators.replies import CUT, REFUSED, NoText, bare, read_text
from calibrator.models.base import ChatReply


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't assist with that request.",
        "I’m sorry, but I cannot help you with this.",
        "Sorry, I can't create content of this kind.",
        "I apologize, but I am unable to generate a response to this.",
        "I cannot fulfill your request.",
        "As an AI language model, I do not take sides.",
        "Unfortunately, I am not able to write such a text.",
    ],
)
def test_a_refusal_is_no_text(text: str) -> None:
    assert read_text(ChatReply(text), "reply") == NoText(REFUSED)


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry you had such a bad day, and still: the bus driver did nothing wrong.",
        "I can't help but notice that you have never been there.",
        "I cannot agree with a word of it.",
        "I will not let this stand: gardeners are kind people.",
        "Sorry, but that is not what the figures say.",
        "I can't believe you write this about teachers.",
        "I won't provide you with a stage for this.",
    ],
)
def test_an_answer_that_begins_like_a_refusal_is_a_text(text: str) -> None:
    assert read_text(ChatReply(text), "reply") == text


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (
            ChatReply("", "refused", "the server's content filter held it back"),
            "the server's content filter held it back",
        ),
        (ChatReply("", "refused"), REFUSED),
        (ChatReply("A walk by the", "length"), CUT),
        (ChatReply("", "length"), "empty text"),
        (ChatReply("  \n"), "empty text"),
        (ChatReply("?! …"), "the text has no word"),
        (ChatReply('""'), "empty text"),
        (ChatReply("Reply:"), "empty text"),
    ],
)
def test_what_is_no_text_has_a_reason(reply: ChatReply, reason: str) -> None:
    assert read_text(reply, "reply") == NoText(reason)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('"A walk is fine."', "A walk is fine."),
        ("“A walk is fine.”", "A walk is fine."),
        ("Reply: A walk is fine.", "A walk is fine."),
        ("**Reply:** A walk is fine.", "A walk is fine."),
        ("> A walk\n> is fine.", "A walk\nis fine."),
        ('"A walk" is one thing, "a run" another.', None),
        ('"One." "Two."', None),
        ("Note: a walk is fine.", None),
        ("First line\nReply: second line", None),
    ],
)
def test_what_is_laid_around_a_text_is_taken_off(text: str, found: str | None) -> None:
    assert bare(text, "reply") == (found or text)
