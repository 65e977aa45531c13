"""What all neural metrics share: a tokenizer and a network that were loaded quietly, and batches of like length.

Networks compute in single precision, without dropout or gradients. Padding is masked, so that a value does not depend
on what stands in the same batch (but for the last digits of a float). Texts that are longer than a network takes are
cut at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from calibrator.errors import ModelUnfit
from calibrator.hub import SAFE, device_of, loading, required, weights
from calibrator.metrics.base import NEURAL, Settings, Tick

T = TypeVar("T")
PACKAGES = ("torch", "transformers")  # which the values of a network follow from
ENDLESS = 10**6  # tokenizers that know no limit name one far above this
CHARACTERS = 10  # kept at first for each token that a network takes: more than twice what a token of prose has
# Networks whose table of positions begins behind the number of the padding token.
OFFSET = frozenset("roberta xlm-roberta xlm-roberta-xl camembert longformer mpnet ibert data2vec-text xmod".split())


@dataclass(frozen=True, slots=True)
class Network:
    """A tokenizer and a network in evaluation mode on a device; `longest` is how many tokens a text may have."""

    name: str
    tokenizer: Any
    model: Any
    device: str
    longest: int

    def tokens(self, texts: Sequence[str], second: Sequence[str] | None = None) -> Any:
        """Return the texts (or pairs of texts) as a padded batch of tensors, shape (texts, tokens), on the device."""
        pairs = {}
        if second is None:
            first = [self.shortened(text) for text in texts]
        else:
            both = [self._shortened_pair(a, b) for a, b in zip(texts, second, strict=True)]
            first, pairs = [a for a, _ in both], {"text_pair": [b for _, b in both]}
        batch = self.tokenizer(
            first, **pairs, padding=True, truncation=True, max_length=self.longest, return_tensors="pt"
        )
        return batch.to(self.device)

    def shortened(self, text: str, least: int = 0) -> str:
        """Return a text without what lies far behind the tokens that the network takes; those stay the same.

        Tokenizers take seconds to cut a pair of texts of 10,000 words. So the first characters are kept, as many as
        make twice the tokens that the network takes, and no fewer tokens than `least`: `CHARACTERS` a token or, where
        that is too few (blanks, very long words), twice as many, and so on.
        """
        kept = CHARACTERS * self.longest
        least = max(least, 2 * self.longest)
        while kept < len(text) and self._count(text[:kept]) < least:
            kept *= 2
        return text[:kept]

    def _shortened_pair(self, a: str, b: str) -> tuple[str, str]:
        """Return a pair with both texts shortened. The one of more tokens stays so: it is given the odd one."""
        found = self.shortened(a), self.shortened(b)
        if found == (a, b):
            return found
        first, second = map(self._count, found)
        longer = self._count(a) > self._count(b)
        if longer and first <= second:
            return self.shortened(a, second + 1), found[1]
        if second < first and not longer:
            return found[0], self.shortened(b, first)
        return found

    def _count(self, text: str) -> int:
        return len(self.tokenizer(text, add_special_tokens=False, truncation=False, verbose=False)["input_ids"])


def load(
    settings: Settings,
    default: str,
    wants: str,
    *,
    head: str = "AutoModel",
    longest: int = 0,
    config: Callable[[Any], None] | None = None,
) -> Network:
    """Return the network of `settings.model`, or of `default`, as the class `head` of transformers.

    `wants` names the metric in messages. `longest` stands for the tokenizer's own limit in tokens; that of the
    network's positions holds in any case. `config` may change the configuration before the network is built from it.
    Raises ModelMissing where torch, transformers or the weights are absent, ModelError for files that are damaged or of
    another kind, ModelUnfit for weights that lack a part of what `head` computes with.
    """
    required("torch", NEURAL, wants)
    transformers: Any = required("transformers", NEURAL, wants)
    name = settings.model or default
    folder = str(weights(name, download=settings.download, tell=settings.tell))
    with loading(name):
        shape = transformers.AutoConfig.from_pretrained(folder, **SAFE)
        if config is not None:
            config(shape)
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **SAFE)
        kind = getattr(transformers, head)
        model, info = kind.from_pretrained(folder, config=shape, output_loading_info=True, **SAFE)
    complete(name, tokenizer, info, head)
    return ready(name, tokenizer, model, settings.device, longest)


def ready(name: str, tokenizer: Any, model: Any, device: str, longest: int = 0) -> Network:
    """Return tokenizer and model as a network on a device ("auto": the first accelerator there is)."""
    tokenizer.padding_side = "right"
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token  # masked wherever it stands for padding
    limits = [longest or tokenizer.model_max_length, _positions(model.config)]
    place = device_of(device)
    return Network(name, tokenizer, model.float().eval().to(place), place, min(x for x in limits if x))


def _positions(config: Any) -> int:
    """Return how many tokens the network has positions for, ENDLESS where they are relative."""
    count = getattr(config, "max_position_embeddings", None)
    if not isinstance(count, int) or count <= 0:
        return ENDLESS
    return count - (config.pad_token_id or 0) - 1 if config.model_type in OFFSET else count


def complete(name: str, tokenizer: Any, info: Mapping[str, Any], head: str) -> None:
    """Raise ModelUnfit if a part is missing: transformers makes up an empty vocabulary, and draws weights at random.

    The pooler of a bare encoder may be missing, since nothing is computed with it.
    """
    if tokenizer.vocab_size <= len(tokenizer.all_special_tokens):
        raise ModelUnfit(f"{name} is no model for this: it has no vocabulary")
    missing = sorted(key for key in info["missing_keys"] if head != "AutoModel" or not key.startswith("pooler."))
    if missing:
        raise ModelUnfit(f"{name} is no model for this: it has no weights for {', '.join(missing[:3])}")


def batches(things: Sequence[T], length: Callable[[T], int], size: int, tick: Tick) -> Iterator[list[int]]:
    """Yield the places of the things in batches of `size`, the longest first, and tell `tick` of each that is done.

    Things of like length stand together, so that little is padded; a batch that is too large for the memory is the
    first one.
    """
    order = sorted(range(len(things)), key=lambda place: -length(things[place]))
    for start in range(0, len(order), size):
        chosen = order[start : start + size]
        yield chosen
        tick(len(chosen))


def shared(tick: Tick, steps: int, items: int) -> Tick:
    """Return what is told of `steps` and tells `tick` of `items`, where an item takes several steps."""
    done = told = 0

    def step(count: int) -> None:
        nonlocal done, told
        done += count
        now = done * items // steps
        tick(now - told)
        told = now

    return step
