"""What a model replied: a text, or the reason why there is none."""

from __future__ import annotations

import json
from pathlib import Path

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
        "I cannot satisfy your request, I'm just an AI.",
        "I'm just an AI, it's not within my programming to take part in this.",
        "I won't engage with that request.",
        "I can't engage in heated discussion. Is there something else I can help you with?",
        "Sorry, I can't do that.",
        "I refuse to write that.",
        "I'm sorry, I can't help with that.",
        "I'm not able to help with this kind of request.",
        "I can't assist with creating unkind content.",
        "I cannot help you write rude messages.",
        "I cannot generate a response because it goes against my guidelines.",
        "I will not comply with that.",
        "<think>A reply is wanted. I had better not.</think>\n\nI can't help with that.",
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
        "I can't help with hatred, but I can listen.",
        "I can't help with this hatred.",
        "I cannot assist with harming people, and neither should you.",
        "I can't write a response because your message breaks my heart.",
        "I cannot help with your message of hate, friend",
        "I cannot provide a platform for your message.",
        "I will not engage in this, and neither should you.",
        "I will not answer your message with another like it.",
        "I refuse to write off a whole town.",
        "Sorry, I can't do that to my neighbours.",
        "I won't respond to that, it is beneath you.",
        "I can't agree. Feel free to ask any gardener.",
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
        (ChatReply("<think>A walk by the river is", "stop"), CUT),
        (ChatReply("\n<think>\nA walk", "length"), CUT),
        (ChatReply("<think>A walk.</think>\n"), "empty text"),
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


@pytest.mark.parametrize("thought", ["<think>Which walk?\nAny.</think>", "\n<think></think>", "Which walk?\n</think>"])
def test_what_a_model_thought_is_no_part_of_its_text(thought: str) -> None:
    """Some templates put the beginning of the thought into the prompt: only its end stands in the reply then."""
    assert read_text(ChatReply(f'{thought}\n\nReply: "A walk is fine."'), "reply") == "A walk is fine."
    assert read_text(ChatReply(f"{thought}A walk"), "reply") == "A walk"


def test_people_who_answer_are_never_taken_for_a_model_that_refuses(real_data: Path) -> None:
    """Some thousands of answers that people wrote, among them many that begin with what the writer will not do."""
    path = real_data / "crowdcounter" / "Train.jsonl"
    if not path.exists():
        pytest.skip("the data set is absent")
    texts = [json.loads(line)["counterspeech"] for line in path.read_text(encoding="utf-8").splitlines()]
    assert len(texts) > 1000
    assert sum(read_text(ChatReply(text), "reply") == NoText(REFUSED) for text in texts) == 0
