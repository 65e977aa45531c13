"""The steps of G-Eval (Liu et al. 2023, "G-Eval: NLG Evaluation using GPT-4 with Better Human Alignment").

The model writes the evaluation steps itself, from the definition of the aspect alone ("auto chain of thought", section
2 of the paper); no rating and no example is seen. The paper's score is the expectation over the probabilities of the
scores (its equation 1), which is the score mode `expected`; where a model gives no probabilities it is the mean of 20
samples at temperature 1, `sample:20`. The wording of the prompt is ours.
"""

from __future__ import annotations

from collections.abc import Sequence

from calibrator.aspects import Aspect
from calibrator.drafting.llm import MAX_TOKENS, STEPS, read_rubric
from calibrator.models.base import ChatRequest, Sampling
from calibrator.models.client import Client
from calibrator.prompts import g_eval_prompt
from calibrator.records import NoRubric, Rubric, Written

TRIES = 3  # the first at temperature 0, the others at `AGAIN`
AGAIN = 0.5


def g_eval_rubric(client: Client, aspect: Aspect, roles: Sequence[str], max_tokens: int = MAX_TOKENS) -> Written:
    """Return the steps that a model writes for an aspect, or why none of `TRIES` replies gives any.

    `roles` are the texts of an item that the judge will see, the rated one last. Raises what the model raises.
    """
    messages = g_eval_prompt(aspect, roles)
    found: Written = NoRubric("the model was not asked")
    for draw in range(TRIES):
        sampling = Sampling(AGAIN if draw else 0.0, max_tokens, draw or None)
        reply = client.ask([ChatRequest(messages, sampling, draw, STEPS)])[0]
        found = read_rubric(aspect, reply, ())
        if isinstance(found, Rubric):
            break
    return found
