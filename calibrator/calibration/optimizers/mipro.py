"""DSPy's MIPROv2 (Opsahl-Ong et al. 2024, arXiv 2406.11695) without demonstrations: instructions are proposed from a
summary of the data, and searched by a Bayesian model of their scores. A frozen judge holds no item's text, as
demonstrations would."""

from __future__ import annotations

from typing import Any

from calibrator.calibration.optimizers.base import Caps, Work, too_few

VIEWS, VIEWED = 10, 10  # most views that MIPRO takes of the data before it sums them up, and items in each: its own
WHOLE = 50  # up to so many items in dev all are scored in every trial: DSPy's own bound
MINIBATCH, STEPS = 35, 5  # DSPy's own: items of a trial, and trials between two scorings on all of dev
SHOWN = 3  # items that MIPRO has the start judge for each proposal, to show what the task is
RATIO = 1.5  # trials for each instruction, as DSPy advises


class Mipro:
    """The settings of MIPROv2 within a budget, and the call to it."""

    def settings(self, caps: Caps, train: int, dev: int) -> dict[str, int]:
        """Return candidates, trials and minibatch: as many trials as the judgments allow, in DSPy's own proportions."""
        views = min(VIEWS, max(1, caps.proposals // 3), -(-train // VIEWED))
        instructions = max(2, caps.proposals - views - 1)
        minibatch = 0 if dev <= WHOLE else MINIBATCH
        shown = min(train, SHOWN * instructions)
        trials = 0
        while shown + judgments_of(trials + 1, minibatch, dev) <= caps.judgments and trials <= RATIO * instructions:
            trials += 1
        if trials < 2:
            raise too_few("MIPROv2", caps.judgments, shown + judgments_of(2, minibatch, dev))
        candidates = max(2, min(instructions, round(trials / RATIO)))
        size = -(-train // views)
        return {
            "num_candidates": candidates,
            "num_trials": trials,
            "minibatch_size": minibatch,
            "view_data_batch_size": size,
        }

    def compile(self, program: Any, work: Work) -> Any:
        """Return the program with the instruction that has the best mean score on all of dev."""
        import dspy
        import optuna

        settings = work.settings
        told = optuna.logging.get_verbosity()
        optimizer = dspy.MIPROv2(
            metric=work.score,
            prompt_model=work.lm,
            task_model=work.lm,
            auto=None,
            num_candidates=settings["num_candidates"],
            max_bootstrapped_demos=0,
            max_labeled_demos=0,
            num_threads=work.threads,
            seed=work.seed,
            track_stats=False,
        )
        try:
            return optimizer.compile(
                program,
                trainset=list(work.train),
                valset=list(work.dev),
                num_trials=settings["num_trials"],
                minibatch=settings["minibatch_size"] > 0,
                minibatch_size=settings["minibatch_size"] or MINIBATCH,
                minibatch_full_eval_steps=STEPS,
                view_data_batch_size=settings["view_data_batch_size"],
                program_aware_proposer=False,  # the program is one request, and says nothing of the task
            )
        finally:
            optuna.logging.set_verbosity(told)


def judgments_of(trials: int, minibatch: int, dev: int) -> int:
    """Return the judgments that so many trials take: the start on dev, and trials on it or, at steps, on all of it."""
    if not minibatch:
        return (trials + 1) * dev
    return dev + trials * minibatch + (trials // STEPS + 2) * dev
