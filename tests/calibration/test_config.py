"""What a run was asked to do: defaults, and what does not go together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from calibrator.calibration.config import (
    CRITERIA,
    WITH_MODEL,
    RunConfig,
    anchored,
    check_models,
    make_config,
    read_settings,
)
from calibrator.errors import ConfigError
from calibrator.judges.llm import MAX_TOKENS
from calibrator.models.budget import Cap
from calibrator.models.build import Access
from calibrator.models.prices import Price

MODEL, OTHER = "openai/gpt-4o-mini", "http://127.0.0.1:9/v1#m"


def config(**settings: Any) -> RunConfig:
    return make_config(aspect="relevance", **settings)


def test_without_a_model_the_embedded_judge_searches_widely() -> None:
    made = config()
    assert made.drafters == (CRITERIA,)
    assert (made.model, made.access(None).cap, made.shots) == (None, None, None)
    assert (made.trials, made.top_k, made.rounds, made.refinements) == (8, 5, 3, 4)


def test_with_a_model_the_search_is_smaller_and_the_model_drafts() -> None:
    made = config(model=MODEL)
    assert made.drafters == (MODEL,)
    assert {name: getattr(made, name) for name in WITH_MODEL} == WITH_MODEL
    assert (made.max_tokens, made.cache) == (MAX_TOKENS, True)


@pytest.mark.parametrize("name", list(WITH_MODEL))
def test_what_is_given_stands_before_the_defaults_with_a_model(name: str) -> None:
    made = config(model=MODEL, **{name: 7})
    assert getattr(made, name) == 7
    assert all(getattr(made, other) == value for other, value in WITH_MODEL.items() if other != name)


def test_a_configuration_with_a_model_survives_its_file() -> None:
    made = config(model=MODEL, drafter=f"criteria,{OTHER}", trials=8, rounds=3, budget="2_000 calls", shots=(0.5, 3))
    again = RunConfig.model_validate(json.loads(made.model_dump_json()))
    assert again == made
    assert make_config(**json.loads(made.model_dump_json())) == made


@pytest.mark.parametrize(
    "drafter, drafters",
    [
        (None, (MODEL,)),
        ("", (MODEL,)),
        (" , ", (MODEL,)),
        ("criteria", (CRITERIA,)),
        (OTHER, (OTHER,)),
        (f"criteria, {MODEL}", (CRITERIA, MODEL)),
        (f"{OTHER},{MODEL} ,criteria,", (OTHER, MODEL, CRITERIA)),
    ],
)
def test_who_drafts(drafter: str | None, drafters: tuple[str, ...]) -> None:
    made = config(model=MODEL, drafter=drafter)
    assert made.drafters == drafters
    check_models(made)


@pytest.mark.parametrize(
    ("text", "cap"),
    [("2000calls", Cap("calls", 2000)), ("100ktok", Cap("tokens", 1e5)), ("5usd", Cap("usd", 5)), (None, None)],
)
def test_a_budget_is_a_cap(text: str | None, cap: Cap | None) -> None:
    made = config(model=MODEL, budget=text)
    check_models(made)
    assert made.access(None).cap == cap


def test_how_models_are_asked(tmp_path: Path) -> None:
    made = config(model=MODEL, concurrency=7, rpm=60, tpm=1e4, timeout=9, price="0.15/0.60", batch=True)
    check_models(made)
    price = Price(0.15e-6, 0.6e-6)
    wanted = Access(width=7, cache=tmp_path, rpm=60, tpm=1e4, deadline=9, price=price, batch=True)
    assert made.access(tmp_path) == wanted
    assert config(model=MODEL, cache=False).access(tmp_path) == Access()
    assert config(model="vllm-local/m", model_arg={"dtype": "half"}).access(None).arguments == {"dtype": "half"}


@pytest.mark.parametrize(
    "settings, message",
    [
        (
            {"drafter": MODEL},
            r"--drafter: openai/gpt-4o-mini writes free text, which the embedded judge cannot measure",
        ),
        ({"drafter": MODEL}, r"--model openai/gpt-4o-mini"),
        ({"drafter": f"criteria,{OTHER}"}, r"--drafter: http://127.0.0.1:9/v1#m writes free text"),
        ({"budget": "100calls"}, r"--budget: the embedded judge asks no model"),
        ({"concurrency": 3}, r"--concurrency: the embedded judge asks no model"),
        ({"model": MODEL, "budget": "much"}, r"--budget: 'much'"),
        ({"model": MODEL, "budget": "0calls"}, r"--budget: '0calls'"),
        ({"model": MODEL, "budget": "5$"}, r"--budget: '5\$'"),
        ({"model": MODEL, "budget": ""}, r"--budget: ''"),
        ({"model": "gpt4"}, r"'gpt4' is no model; write openai/"),
        ({"model": "criteria"}, r"'criteria' is no model"),
        ({"model": "openai/"}, r"'openai/' is no model"),
        ({"model": "http://127.0.0.1:9/v1"}, r"names no model"),
        ({"model": "http://me:secret@host/v1#m"}, r"no user, password"),
        ({"score_mode": "expected"}, r"^--score-mode: the embedded judge asks no model"),
        ({"model": MODEL, "score_mode": "sample:1"}, r"^--score-mode: 'sample:1' is none"),
        ({"model": MODEL, "model_arg": {"dtype": "half"}}, r"^--model-arg is for vllm-local/<model>"),
        ({"model": MODEL, "price": "cheap"}, r"'cheap' is no price"),
        ({"model": "vllm/m", "batch": True}, r"^--batch: vllm/m has no Batch API"),
        ({"model": MODEL, "drafter": "vllm/m", "batch": True}, r"^--batch: vllm/m has no Batch API"),
        ({"model": MODEL, "drafter": "criterion"}, r"'criterion' is no model"),
        ({"model": MODEL, "drafter": f"{MODEL},{MODEL}"}, r"names one twice"),
        ({"model": MODEL, "drafter": "criteria, criteria"}, r"names one twice"),
        ({"model": MODEL, "shots": (0.5,)}, r"--shots: a model is shown a number of exemplars"),
        ({"model": MODEL, "shots": (3, 1)}, r"--shots: a model is shown a number of exemplars"),
        ({"model": MODEL, "drafter": f"{MODEL},{OTHER}", "shots": (3, 0.5)}, r"fractions are for criteria"),
    ],
)
def test_what_does_not_go_together_is_refused_with_the_reason(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        check_models(config(**settings))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"drafter": "criteria"},
        {"shots": (0.5, 20)},
        {"model": MODEL},
        {"model": MODEL, "shots": (3, 5)},
        {"model": MODEL, "drafter": "criteria", "shots": (0.5, 1)},
        {"model": MODEL, "drafter": f"criteria,{MODEL}", "shots": (0.5, 3)},
        {"model": OTHER, "drafter": MODEL, "budget": "10calls", "concurrency": 2},
        {"model": "local/smollm2"},
        {"model": "vllm/Qwen/Qwen2.5-7B-Instruct"},
    ],
)
def test_what_goes_together_passes_and_nothing_is_opened(settings: dict[str, Any]) -> None:
    check_models(config(**settings))


@pytest.mark.parametrize("settings", [{"max_tokens": 0}, {"concurrency": 0}])
def test_a_setting_that_makes_no_sense_names_its_option(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=f"--{next(iter(settings)).replace('_', '-')}"):
        config(model=MODEL, **settings)


def test_names_of_models_are_kept_as_they_are_but_for_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.gguf").write_bytes(b"GGUF")
    made = anchored(config(model="local/m.gguf", drafter=f"criteria,local/m.gguf,{OTHER}"))
    assert made.model == f"local/{tmp_path.resolve()}/m.gguf"
    assert made.drafters == (CRITERIA, made.model, OTHER)
    assert anchored(config(model="local/smollm2")).model == "local/smollm2"
    assert anchored(config()).drafters == (CRITERIA,)


def test_the_settings_file_knows_models_too(tmp_path: Path) -> None:
    file = tmp_path / "calibrate.yaml"
    file.write_text(f"model: {MODEL}\ndrafter: criteria\nbudget: 100calls\nrounds: 5\n", encoding="utf-8")
    made = config(**read_settings(file))
    assert (made.model, made.drafters, made.budget, made.rounds, made.trials) == (MODEL, (CRITERIA,), "100calls", 5, 4)
