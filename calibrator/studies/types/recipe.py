"""How a transformer is fine-tuned: one loop for every head, with the paper's settings as its defaults.

Saha et al. 2024 (CrowdCounter, appendix D.1): texts of at most 256 tokens, batches of 32 (2 for text to text) joined
in twos, AdamW at 2e-5 with a weight decay of 0.01 and a cosine schedule without warm-up, 10 epochs, of which the one
with the least loss on the validation part is kept; early stopping after 10 evaluations that gain less than 0.01.
Their optimizer keeps its state in paged memory, which changes where the numbers lie and not what they are: here it is
torch's own AdamW.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from calibrator.hub import required

EXTRA = "neural"
Loss = Callable[[Sequence[int]], Any]  # the mean loss of the examples in these places, as a tensor
Told = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Recipe:
    """Settings of fine-tuning; `length` is in tokens, `batch` in texts, `accumulate` in batches for one step.

    `share` of the training side, in groups, is the validation part. Training stops after `patience` epochs of which
    none has bettered the loss by `gain`.
    """

    length: int = 256
    batch: int = 32
    accumulate: int = 2
    rate: float = 2e-5
    epochs: int = 10
    decay: float = 0.01
    patience: int = 10
    gain: float = 0.01
    share: float = 0.2


HEAD = Recipe()
TEXT_TO_TEXT = Recipe(batch=2)


@dataclass(frozen=True, slots=True)
class Trained:
    """What training came to: the loss on the validation part after each epoch, and which epoch was kept (from 1)."""

    losses: tuple[float, ...]
    kept: int


def fine_tune(
    model: Any, recipe: Recipe, train: tuple[int, Loss], dev: tuple[int, Loss], seed: int, tell: Told = lambda _: None
) -> Trained:
    """Train `model` in place and leave it as it was after its best epoch, ready to predict.

    `train` and `dev` are how many examples there are and what gives the loss of some. Nothing outside changes: torch's
    generators are afterwards as they were before.
    """
    torch: Any = required("torch", EXTRA, "fine-tuning")
    transformers: Any = required("transformers", EXTRA, "fine-tuning")
    count, loss_of = train
    steps = math.ceil(math.ceil(count / recipe.batch) / recipe.accumulate) * recipe.epochs
    with seeded(torch, seed):
        optimizer = torch.optim.AdamW(_decayed(model, recipe.decay), lr=recipe.rate)
        schedule = transformers.get_cosine_schedule_with_warmup(optimizer, 0, steps)
        losses: list[float] = []
        best: dict[str, Any] = {}
        for epoch in range(recipe.epochs):
            _epoch(torch, model, recipe, torch.randperm(count).tolist(), loss_of, optimizer, schedule)
            losses.append(_loss_on(torch, model, recipe, *dev))
            tell(f"epoch {epoch + 1} of {recipe.epochs}: loss {losses[-1]:.4f} on the validation part")
            if losses[-1] == min(losses):
                best = {name: tensor.detach().cpu().clone() for name, tensor in model.state_dict().items()}
            if _stalled(losses, recipe):
                break
        model.load_state_dict(best)
        model.eval()
    return Trained(tuple(losses), losses.index(min(losses)) + 1)


@contextlib.contextmanager
def seeded(torch: Any, seed: int) -> Iterator[None]:
    """Draw from this seed inside; torch's generators, those of its devices too, go on afterwards where they were."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        yield


def _decayed(model: Any, decay: float) -> list[dict[str, Any]]:
    """Return the weights in two groups: matrices decay, biases and the scales of norms do not."""
    weights = [p for p in model.parameters() if p.requires_grad]
    matrices, others = [p for p in weights if p.dim() > 1], [p for p in weights if p.dim() <= 1]
    return [{"params": matrices, "weight_decay": decay}, {"params": others, "weight_decay": 0.0}]


def _epoch(
    torch: Any, model: Any, recipe: Recipe, order: Sequence[int], loss_of: Loss, optimizer: Any, schedule: Any
) -> None:
    """Go over all examples once; the gradients of `accumulate` batches are averaged for one step."""
    model.train()
    batches = [order[k : k + recipe.batch] for k in range(0, len(order), recipe.batch)]
    for first in range(0, len(batches), recipe.accumulate):
        joined = batches[first : first + recipe.accumulate]
        for batch in joined:
            (loss_of(batch) / len(joined)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()


def _loss_on(torch: Any, model: Any, recipe: Recipe, count: int, loss_of: Loss) -> float:
    model.eval()
    total = 0.0
    with torch.no_grad():
        for k in range(0, count, recipe.batch):
            places = range(k, min(k + recipe.batch, count))
            total += float(loss_of(places)) * len(places)
    return total / count


def _stalled(losses: Sequence[float], recipe: Recipe) -> bool:
    """Whether the last `patience` epochs have gained nothing over the best before them."""
    if len(losses) <= recipe.patience:
        return False
    return min(losses[-recipe.patience :]) > min(losses[: -recipe.patience]) - recipe.gain
