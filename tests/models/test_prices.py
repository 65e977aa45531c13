"""What models cost, and where it is not known."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest

from calibrator.errors import ConfigError
from calibrator.models.prices import Price, _price, parse_price, price_for, price_of
from calibrator.records import Usage

needs_litellm = pytest.mark.skipif(importlib.util.find_spec("litellm") is None, reason="not installed: litellm")


def test_a_cost_is_the_sum_of_its_tokens() -> None:
    price = Price(2.0, 8.0, 0.5)
    assert price.cost(Usage(10, 3)) == 44.0
    assert price.cost(Usage(10, 3, 4)) == 6 * 2.0 + 4 * 0.5 + 3 * 8.0
    assert price.cost(Usage(10, 3, 99)) == 10 * 0.5 + 3 * 8.0  # no more of a prompt is in store than there is
    assert price.cost(Usage()) == 0.0
    assert Price(2.0, 8.0).cost(Usage(10, 3, 4)) == 44.0
    assert Price(2.0, 8.0, 0.0).cost(Usage(10, 3, 4)) == 36.0


def test_half_a_price() -> None:
    assert Price(2.0, 8.0, 0.5).halved() == Price(1.0, 4.0, 0.25)
    assert Price(2.0, 8.0).halved() == Price(1.0, 4.0)


def test_what_the_user_says_counts_where_the_price_is_not_known() -> None:
    said = Price(1.0, 2.0)
    assert price_for("vllm/m", said) == said
    assert price_for("vllm/m", None) is None
    assert price_for("local/smollm2", said) == Price(0.0, 0.0)


@pytest.mark.parametrize("text", ["0.15/0.60", " 0.15 / 0.6 ", ".15/.6"])
def test_a_price_as_it_is_written(text: str) -> None:
    price = parse_price(text)
    assert price.cost(Usage(1_000_000, 0)) == pytest.approx(0.15)
    assert price.cost(Usage(0, 1_000_000, 0)) == pytest.approx(0.60)
    assert price.cached is None


def test_a_price_may_be_nothing() -> None:
    assert parse_price("0/0") == Price(0.0, 0.0)


@pytest.mark.parametrize("text", ["", "1", "1/", "/1", "1/2/3", "-1/2", "a/b", "1,5/2", "nan/1", "inf/1", "1e3/1", "."])
def test_what_is_no_price(text: str) -> None:
    with pytest.raises(ConfigError, match=r"is no price; .* like 0\.15/0\.60$") as caught:
        parse_price(text)
    assert str(caught.value).startswith(f"--price: '{text}' ")


@pytest.mark.parametrize("name", ["local/smollm2", "local/m.gguf", "vllm-local/org/m", "replay/runs/x"])
def test_what_runs_here_costs_nothing(name: str) -> None:
    assert price_of(name) == Price(0.0, 0.0)


@pytest.mark.parametrize(
    "name",
    [
        "http://host/v1#gpt-4o-mini",
        "https://host/v1#gpt-4o-mini",
        "vllm/gpt-4o-mini",
        "vllm/org/m",
        "openai/no-such-model",
        "nowhere/gpt-4o-mini",
        "openai/container",  # in the table, without a price for tokens
        "openai/claude-sonnet-4-5",  # of another provider
    ],
)
def test_an_unknown_price_is_none(name: str) -> None:
    assert price_of(name) is None


@needs_litellm
@pytest.mark.parametrize("name", ["openai/gpt-4o-mini", "anthropic/claude-sonnet-4-5", "mistral/mistral-large-latest"])
def test_the_table_tells(name: str) -> None:
    price = price_of(name)
    assert price is not None and 0 < price.prompt < price.completion < 1e-3
    assert price.cached is None or price.cached < price.prompt


@needs_litellm
def test_it_is_the_price_that_litellm_has() -> None:
    assert price_of("openai/gpt-4o-mini") == Price(1.5e-07, 6e-07, 7.5e-08)
    tuned = price_of("openai/ft:gpt-4o-mini-2024-07-18:somebody::abc")
    assert tuned is not None and tuned.prompt > 1.5e-07


@pytest.mark.parametrize(
    ("entry", "price"),
    [
        ({"input_cost_per_token": 1.0, "output_cost_per_token": 2}, Price(1.0, 2.0)),
        ({"input_cost_per_token": 1.0, "output_cost_per_token": 2, "cache_read_input_token_cost": 0}, Price(1, 2, 0)),
        ({"input_cost_per_token": 0, "output_cost_per_token": 0}, Price(0.0, 0.0)),
        ({"input_cost_per_token": 1.0}, None),
        ({"output_cost_per_token": 1.0}, None),
        ({"input_cost_per_token": None, "output_cost_per_token": 1.0}, None),
        ({}, None),
        (None, None),
        ("free", None),
    ],
)
def test_an_entry_without_a_price_is_unknown(entry: object, price: Price | None) -> None:
    assert _price(entry) == price


def test_litellm_is_not_imported_for_it() -> None:
    code = (
        "import sys; from calibrator.models.prices import price_of; price_of('openai/gpt-4o-mini')\n"
        "assert 'litellm' not in sys.modules and 'openai' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_litellm_nothing_is_known() -> None:
    code = (
        "import importlib.util; find = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *a: None if name == 'litellm' else find(name, *a)\n"
        "from calibrator.models.prices import price_of\n"
        "assert price_of('openai/gpt-4o-mini') is None and price_of('local/smollm2') is not None"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
