"""A frozen judge as a saved program of DSPy: JSON that `load` reads, without a pickle.

    from calibrator.export.dspy_program import load
    program = load("relevance.json")
    dspy.configure(lm=dspy.LM("openai/gpt-4o-mini"))
    program(source="…", output="…").score            # .failure says why where it is None

It asks whatever language model DSPy is configured with what the frozen judge asks, with the same sampling, and reads
the reply in the same way. Imported only where DSPy is used.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, cast

from dspy.lm15 import Config, Message, Request
from dspy.utils.exceptions import ContextWindowExceededError, LMInvalidRequestError, LMUnsupportedFeatureError
from dspy.utils.saving import get_dependency_versions

from calibrator.drafting.dspy_lm import BackendLM
from calibrator.drafting.dspy_program import RubricProgram
from calibrator.drafting.guide import guide_rubric
from calibrator.errors import RubricError
from calibrator.judges.base import Judge
from calibrator.judges.frozen import FrozenJudge
from calibrator.judges.llm import SAMPLING, TEXT, LLMJudge
from calibrator.judges.modes import parse_mode
from calibrator.judges.wording import in_words
from calibrator.models.base import ChatReply, ChatRequest, Sampling
from calibrator.models.client import Client
from calibrator.models.names import is_url
from calibrator.models.wire import FILTERED, TOO_LONG, refusal, token_of
from calibrator.prompts import Prompt, score_prompt
from calibrator.records import NoRubric
from calibrator.validation import checked

JUDGE = "calibrator_judge"  # its key in the saved state
NO_STEPS = "(no steps: judge by the definition alone)"


class FrozenProgram(RubricProgram):
    """A frozen judge as DSPy runs it. Its instruction is the rubric: another one makes another judge.

    `frozen` is None only until a state is loaded.
    """

    def __init__(self, frozen: FrozenJudge | None = None) -> None:
        roles = frozen.judge.texts if frozen else ("output",)
        super().__init__(roles, instruction_of(frozen) if frozen else NO_STEPS, self._judge)
        self.frozen = frozen

    def dump_state(self, json_mode: bool = True) -> dict[str, Any]:
        """Return the frozen judge, and the state that DSPy keeps of its instruction."""
        if self.frozen is None:
            raise RubricError("this program holds no judge yet; load one")
        return {JUDGE: self.frozen.model_dump(mode="json"), **super().dump_state(json_mode=json_mode)}

    def load_state(self, state: dict[str, Any], *, allow_unsafe_lm_state: bool = False) -> None:
        """Take over a saved state. Raises RubricError if its judge is none, or was changed."""
        frozen = checked(FrozenJudge, state.get(JUDGE), Path("the saved program"), RubricError, "no frozen judge: ")
        if frozen.content_hash != frozen.hashed().content_hash:
            raise RubricError("the saved program: its judge was changed after it was frozen; export it again")
        FrozenProgram.__init__(self, frozen)
        super().load_state(state, allow_unsafe_lm_state=allow_unsafe_lm_state)

    def _judge(self, instruction: str, lm: Any) -> Judge | NoRubric:
        if self.frozen is None:
            raise RubricError("this program holds no judge yet; load one")
        prompt = prompt_of(self.frozen, instruction)
        if isinstance(prompt, NoRubric):
            return prompt
        asked, aspect = self.frozen.judge.asked, self.frozen.aspect.aspect()
        sampling = Sampling(**asked.sampling.model_dump()) if asked else SAMPLING
        mode = parse_mode(self.frozen.judge.score_mode) if asked else TEXT
        held = asked is None or not is_url(asked.model)  # a bare address is asked without a schema, see `models.names`
        client = lm.asker.client if isinstance(lm, BackendLM) else cast(Client, LMClient(lm, structured=held))
        return LLMJudge(client, prompt, aspect, sampling, None, mode)


def load(path: str | Path) -> FrozenProgram:
    """Return the program in a file that `calibrate export --to dspy` wrote."""
    program = FrozenProgram()
    program.load(path)
    return program


def saved(frozen: FrozenJudge) -> str:
    """Return the saved program of a frozen judge, in the form that DSPy's `Module.load` reads."""
    state = FrozenProgram(frozen).dump_state()
    state["metadata"] = {"dependency_versions": get_dependency_versions()}
    return json.dumps(state, ensure_ascii=False, indent=1) + "\n"


def instruction_of(frozen: FrozenJudge) -> str:
    """Return the rubric as DSPy's instruction: its steps in words, numbered."""
    return "\n".join(f"{k}. {step}" for k, step in enumerate(in_words(frozen.rubric()), 1)) or NO_STEPS


def prompt_of(frozen: FrozenJudge, instruction: str) -> Prompt | NoRubric:
    """Return what is asked with an instruction: with its own, what the frozen judge asks.

    A criteria judge asks nothing: its rubric is put in words, as `--to prompt` does.
    """
    aspect = frozen.aspect.aspect()
    own = instruction == instruction_of(frozen)
    if own and frozen.judge.asked:
        return frozen.prompt()
    rubric = frozen.rubric() if own else guide_rubric(instruction, aspect, ())
    return rubric if isinstance(rubric, NoRubric) else score_prompt(aspect, in_words(rubric), frozen.judge.texts)


class LMClient:
    """Puts the requests of a judge to a language model of DSPy's, one after the other; see `models.client.Client`.

    What DSPy raises for a model that cannot be reached is raised; it is no score and no failure.
    """

    def __init__(self, lm: Any, *, structured: bool = True) -> None:
        """`structured` says that a reply may be held to a schema; a model that cannot is asked without it."""
        self._lm, self.id, self._structured = lm, str(lm.model), structured

    def each(self, requests: Iterable[ChatRequest], told: Callable[[int, ChatReply], None]) -> None:
        """Ask everything; `told` hears of each reply with the place of its request."""
        for place, request in enumerate(requests):
            told(place, self._reply(request))

    def require_logprobs(self, alternatives: int) -> None:
        """Ask nothing: DSPy refuses a request for log-probabilities that a model does not give."""

    def _reply(self, request: ChatRequest) -> ChatReply:
        try:
            return self._asked(request, structured=self._structured)
        except ContextWindowExceededError:
            return ChatReply("", "refused", TOO_LONG)
        except (LMUnsupportedFeatureError, LMInvalidRequestError) as error:
            if held := refusal(str(error)):
                return held
            if not self._structured or not any(sign in str(error) for sign in ("response_format", "schema")):
                raise
            return self._asked(request, structured=False)

    def _asked(self, request: ChatRequest, *, structured: bool) -> ChatReply:
        draw = {"rollout_id": request.sample} if request.sample else {}
        return reply_of(self._lm(request_of(request, self.id, structured=structured), **draw))


def request_of(request: ChatRequest, model: str, *, structured: bool = True) -> Request:
    """Return a request of ours in DSPy's form; `structured` says that the model can follow a schema."""
    sampling, system = request.sampling, [m.content for m in request.messages if m.role == "system"]
    form = {"type": "json_schema", "name": "reply", "strict": True, "schema": json.loads(request.schema or "{}")}
    config = Config(
        max_tokens=sampling.max_tokens,
        temperature=sampling.temperature,
        seed=sampling.seed,
        logprobs=request.logprobs or None,
        response_format=form if structured and request.schema else None,
    )
    messages = [
        Message.assistant(m.content) if m.role == "assistant" else Message.user(m.content)
        for m in request.messages
        if m.role != "system"
    ]
    return Request(model=model, messages=tuple(messages), system="\n".join(system) or None, config=config)


def reply_of(response: Any) -> ChatReply:
    """Return a response of DSPy's as a reply of ours."""
    if response.finish_reason == "content_filter":
        return ChatReply("", "refused", FILTERED)
    parts = (p.text if hasattr(p, "text") else json.dumps(p.value) for p in response.message.parts if _said(p))
    tokens = tuple(token_of(t.token, t.logprob, ((o.token, o.logprob) for o in t.top)) for t in response.logprobs or ())
    return ChatReply("".join(parts), "length" if response.finish_reason == "length" else "stop", tokens=tokens)


def _said(part: Any) -> bool:
    """Whether a part is of the reply: its text, or the value that DSPy read out of it; thoughts are not."""
    return getattr(part, "type", "") in ("text", "data")
