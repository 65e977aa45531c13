"""UniEval on a tiny random T5: the questions, the answers, and how they become a value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForSeq2SeqLM

from calibrator.errors import ModelMissing, ModelUnfit
from calibrator.metrics.base import Settings, Unscored, Value
from calibrator.metrics.neural import load
from calibrator.metrics.unieval import METRICS, answers, punkt, questions
from calibrator.records import Item
from tests.metrics import tiny

BY_NAME = {metric.name: metric for metric in METRICS}
ITEMS = [
    Item(id="a", output="The bus was late. Walking is healthy.", source=tiny.TEXTS[1], reference=tiny.TEXTS[2]),
    Item(id="b", output="Mr. Bus was late again", source=tiny.TEXTS[2], reference=tiny.TEXTS[3]),
    Item(id="c", output=tiny.TEXTS[3], source=tiny.TEXTS[0], reference=tiny.TEXTS[1]),
]


@pytest.fixture(scope="module")
def t5(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.t5(tmp_path_factory.mktemp("t5"))


@pytest.fixture(scope="module")
def nltk_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Punkt model that knows one abbreviation, laid out as NLTK's."""
    top = tmp_path_factory.mktemp("nltk")
    model = top / "tokenizers" / "punkt_tab" / "english"
    model.mkdir(parents=True)
    (model / "abbrev_types.txt").write_text("mr\n")
    for name in ("collocations.tab", "sent_starters.txt", "ortho_context.tab"):
        (model / name).write_text("")
    return top


def score(
    folder: Path, given: Sequence[Item], name: str, nltk_data: Path | None = None, size: int = 0
) -> tuple[Value, ...]:
    settings = Settings(model=str(folder), device="cpu", batch_size=size, nltk_data=nltk_data)
    return BY_NAME[name].make(settings)(given, lambda _: None)[name]  # type: ignore[return-value]


def by_hand(folder: Path, question: str) -> float:
    """Return P(Yes) / (P(Yes) + P(No)) of the answer's first token."""
    tokenizer, model = tiny.opened(folder, AutoModelForSeq2SeqLM)
    with torch.no_grad():
        given = tokenizer(question, return_tensors="pt")["input_ids"]
        logits = model(input_ids=given, labels=tokenizer("No", return_tensors="pt")["input_ids"]).logits[0, 0]
    chances = logits.softmax(dim=-1)
    yes, no = (float(chances[tokenizer(word)["input_ids"][0]]) for word in ("Yes", "No"))
    return yes / (yes + no)


def test_a_whole_output_is_asked_about_once(t5: Path) -> None:
    found = score(t5, ITEMS, "unieval-relevance", size=2)
    asked = [
        f"question: Is this summary relevant to the reference? </s> summary: {i.output} </s> reference: {i.reference}"
        for i in ITEMS
    ]
    assert found == pytest.approx([by_hand(t5, text) for text in asked], abs=1e-4)


def test_sentences_are_asked_about_one_by_one_and_averaged(t5: Path, nltk_data: Path) -> None:
    def one(sentence: str) -> float:
        return by_hand(t5, f"question: Is this a fluent paragraph? </s> paragraph: {sentence}")

    found = score(t5, ITEMS[:2], "unieval-fluency", nltk_data)
    assert found[0] == pytest.approx((one("The bus was late.") + one("Walking is healthy.")) / 2, abs=1e-4)
    assert found[1] == pytest.approx(one("Mr. Bus was late again"), abs=1e-4)  # the abbreviation ends no sentence


def test_the_overall_value_is_the_mean_of_the_four_dimensions(t5: Path, nltk_data: Path) -> None:
    names = [f"unieval-{dimension}" for dimension in ("coherence", "consistency", "fluency", "relevance")]
    each = zip(*(score(t5, ITEMS, name, nltk_data) for name in names), strict=True)
    wanted = [sum(values) / 4 for values in each]
    assert score(t5, ITEMS, "unieval", nltk_data) == pytest.approx(wanted, abs=1e-5)


def test_engagingness_adds_the_sentences_up_and_needs_a_fact(t5: Path, nltk_data: Path) -> None:
    known = [Item(id="a", output=ITEMS[0].output, source="one\n\n", inputs={"fact": "none\n"}), ITEMS[1]]
    found = score(t5, known, "unieval-response-engagingness", nltk_data)
    begin = "question: Is this an engaging and informative response according to the dialogue history and fact? </s> "
    rest = " </s> dialogue history: one\n\n </s> fact: none\n"
    parts = ("The bus was late.", "Walking is healthy.")
    wanted = sum(by_hand(t5, f"{begin}response: {part}{rest}") for part in parts)
    assert found[0] == pytest.approx(wanted, abs=1e-4)
    assert found[1] == Unscored("no input named fact")


def test_an_item_has_the_same_value_alone_as_in_a_batch(t5: Path, nltk_data: Path) -> None:
    for name in ("unieval", "unieval-coherence"):
        together = score(t5, ITEMS, name, nltk_data, size=16)
        assert [score(t5, [item], name, nltk_data)[0] for item in ITEMS] == pytest.approx(list(together), abs=1e-4)


def test_every_metric_has_its_questions_and_what_they_need() -> None:
    for metric in METRICS:
        _, task, dimensions, _ = metric.make.args  # type: ignore[attr-defined]
        asked = [questions(task)[dimension] for dimension in dimensions]
        wanted = {role for role in ("output", "source", "reference") for q in asked if f"{{{role}}}" in q.ask}
        assert set(metric.needs) == wanted, metric.name


def test_braces_in_a_text_are_left_as_they_are() -> None:
    item = Item(id="a", output="{source} {x}", source="{output}", reference=None)
    assert (
        questions("summary")["coherence"]
        .about(item, item.output)
        .endswith("summary: {source} {x} </s> document: {output}")
    )


def test_without_the_model_of_sentences_it_says_what_provides_it(
    t5: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import nltk.data

    monkeypatch.setattr(nltk.data, "path", [])
    with pytest.raises(ModelMissing, match=r"nltk\.downloader punkt_tab"):
        punkt(Settings(nltk_data=tmp_path))


def test_a_model_that_has_one_token_for_both_answers_is_refused(t5: Path) -> None:
    network = load(Settings(model=str(t5), device="cpu"), "", "unieval", head="AutoModelForSeq2SeqLM")

    class Deaf:
        def __call__(self, _: str) -> Mapping[str, list[int]]:
            return {"input_ids": [2]}

    object.__setattr__(network, "tokenizer", Deaf())
    with pytest.raises(ModelUnfit, match="cannot answer Yes or No"):
        answers(network, ["anything"], 1, lambda _: None)


def test_progress_is_told_in_items(t5: Path, nltk_data: Path) -> None:
    told: list[int] = []
    settings = Settings(model=str(t5), device="cpu", batch_size=2, nltk_data=nltk_data)
    BY_NAME["unieval"].make(settings)(ITEMS, told.append)
    assert sum(told) == len(ITEMS)
    assert len(told) > 1
