"""A judge of ours as a program of DSPy: its one instruction is the text of the rubric, and nothing else of the prompt.

The prompt around the rubric, the quoting of texts and the reading of replies are those of our LLM judge, so that a
score is the same inside and outside of DSPy. Imported only where DSPy is used.
"""

from __future__ import annotations

import keyword
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import dspy
from pydantic import BaseModel

from calibrator.errors import InputError
from calibrator.judges.base import Judge
from calibrator.records import Failure, Item, NoRubric
from calibrator.texts import digest

# From an instruction, and the language model DSPy would ask, to the judge that follows it, or why nobody can.
JudgeOf = Callable[[str, Any], Judge | NoRubric]

_TAKEN = frozenset("signature new_signature demos config lm prediction score failure".split()) | set(dir(BaseModel))


def field_names(roles: Sequence[str]) -> dict[str, str]:
    """Return the name of DSPy's field for each role of a text: the role itself where it can be one."""
    names: dict[str, str] = {}
    for number, role in enumerate(roles, 1):
        plain = role.isidentifier() and not keyword.iskeyword(role) and not role.startswith(("_", "model_"))
        names[role] = role if plain and role not in _TAKEN else f"text_{number}"
    return names


class RubricAdapter(dspy.Adapter):
    """Has a judge score the item that DSPy's inputs are; demonstrations are not taken, since they hold items' texts."""

    def __init__(self, names: Mapping[str, str], judge_of: JudgeOf) -> None:
        super().__init__()
        self._names, self._judge_of = dict(names), judge_of

    def __call__(
        self, lm: Any, lm_kwargs: dict[str, Any], signature: Any, demos: list[Any], inputs: dict[str, Any]
    ) -> list[dict[str, Any]]:
        """Return [{"score": number or None, "failure": None or the reason}]."""
        if demos:
            raise ValueError("a rubric takes no demonstrations: set max_labeled_demos=0 and max_bootstrapped_demos=0")
        judge = self._judge_of(signature.instructions, lm)
        if isinstance(judge, NoRubric):
            return [{"score": None, "failure": f"this guide cannot be used: {judge.reason}"}]
        verdict = judge.judge([self._item(inputs)])[0]
        if isinstance(verdict, Failure):
            return [{"score": None, "failure": verdict.reason}]
        return [{"score": verdict.score, "failure": None}]

    async def acall(
        self, lm: Any, lm_kwargs: dict[str, Any], signature: Any, demos: list[Any], inputs: dict[str, Any]
    ) -> list[dict[str, Any]]:
        """Return the same from a thread."""
        import asyncio

        return await asyncio.to_thread(self, lm, lm_kwargs, signature, demos, inputs)

    def __deepcopy__(self, memo: object) -> RubricAdapter:
        return self  # it changes nothing, and a connection cannot be copied

    def _item(self, inputs: Mapping[str, Any]) -> Item:
        texts = {role: inputs[name] for role, name in self._names.items()}
        wrong = next(
            (n for n, t in zip(self._names.values(), texts.values(), strict=True) if not isinstance(t, str)), ""
        )
        if wrong:
            raise InputError(f"{wrong} must be a text")
        output, source = texts.pop("output"), texts.pop("source", "")
        return Item(id="", output=output, source=source, inputs=texts, key=digest([output, source, texts]))


class RubricProgram(dspy.Module):
    """Scores one text: `program(source=…, output=…)` gives `.score`, and `.failure` where there is no score.

    `roles` are the texts that the judge is shown, the rated one last; DSPy's fields are called by `field_names`.
    """

    def __init__(self, roles: Sequence[str], instruction: str, judge_of: JudgeOf) -> None:
        super().__init__()
        self.names = field_names(roles)
        fields: dict[str, Any] = {name: (str, dspy.InputField()) for name in self.names.values()}
        fields["score"] = (float | None, dspy.OutputField())
        fields["failure"] = (str | None, dspy.OutputField())
        self.predict = dspy.Predict(dspy.Signature(fields, instruction))
        self._adapter = RubricAdapter(self.names, judge_of)

    def forward(self, **texts: Any) -> Any:
        """Return the prediction. Raises InputError if a text is missing that the judge is shown."""
        self._complete(texts)
        with dspy.context(adapter=self._adapter):
            return self.predict(**texts)

    async def aforward(self, **texts: Any) -> Any:
        """Return the prediction. Raises InputError if a text is missing that the judge is shown."""
        self._complete(texts)
        with dspy.context(adapter=self._adapter):
            return await self.predict.acall(**texts)

    def _complete(self, texts: Mapping[str, Any]) -> None:
        if missing := [name for name in self.names.values() if name not in texts]:
            problem = f"this judge is shown {', '.join(self.names.values())}"
            raise InputError(f"{problem}; give {', '.join(missing)} too (an empty text if there is none)")
