"""DSPy's GEPA (Agrawal et al. 2025, arXiv 2507.19457): a model reflects on feedback to a few items, and rewrites."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from calibrator.calibration.optimizers.base import Caps, Work, too_few

MINIBATCH = 3  # GEPA's own
# What our drafter is told too: what breaks these rules is refused.
RULES = (
    "Write the instruction as three to ten numbered steps, each on a line of its own, one or two sentences that say "
    "what to look at and how it moves the rating. The steps are general: do not quote the examples and do not speak of "
    "them. Do not set another scale and do not say how the answer is to be written; both are said elsewhere."
)


class Gepa:
    """The settings of GEPA within a budget, and the call to it."""

    def settings(self, caps: Caps, train: int, dev: int) -> dict[str, int]:
        """Return `max_metric_calls` and the most proposals.

        GEPA looks at its count before a round and not within it: the start on dev, a round on two minibatches and, if
        that was a gain, on dev. So it is told less by one such round, and never takes more than was allowed.
        """
        a_round = 2 * MINIBATCH + dev
        if caps.judgments < dev + a_round or train < 1:
            raise too_few("GEPA", caps.judgments, dev + a_round)
        return {
            "max_metric_calls": caps.judgments - a_round + 1,
            "reflection_minibatch_size": min(MINIBATCH, train),
            "proposals": caps.proposals,
        }

    def compile(self, program: Any, work: Work) -> Any:
        """Return the program with the instruction that has the best mean score on dev."""
        import dspy
        from dspy.teleprompt.gepa import InstructionProposer

        optimizer = dspy.GEPA(
            metric=work.feedback,
            max_metric_calls=work.settings["max_metric_calls"],
            reflection_minibatch_size=work.settings["reflection_minibatch_size"],
            reflection_lm=work.lm,
            instruction_proposer=InstructionProposer(additional_instructions=RULES),
            use_merge=False,  # of two programs with one instruction each there is nothing to merge
            num_threads=work.threads,
            failure_score=0.0,
            seed=work.seed,
            gepa_kwargs={"stop_callbacks": [_enough(work)]},
        )
        return optimizer.compile(program, trainset=list(work.train), valset=list(work.dev))


def _enough(work: Work) -> Callable[[object], bool]:
    """Return what says that as many proposals were asked for as may be."""
    return lambda state: work.lm.calls >= work.settings["proposals"]
