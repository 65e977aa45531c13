"""Every other provider, through litellm: one dependency for a hundred of them, imported when it is first asked."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import warnings
from dataclasses import replace
from typing import Any

from calibrator.errors import ModelError, ModelMissing, ModelUnavailable, ModelUnfit
from calibrator.models.base import NEED_LOGPROBS, ChatReply, ChatRequest
from calibrator.models.prices import price_of
from calibrator.models.wire import FILTERED, TOO_LONG, refusal, reply_of, request_body, retry_after
from calibrator.texts import digest

NEEDS_LITELLM = "litellm is not installed; it comes with: pip install 'litellm>=1.83.7' 'openai<3'"
NO_DEADLINE = 86_400.0  # seconds; the deadline is kept outside, and None would be litellm's own


class ProviderModel:
    """A model of a provider that litellm knows; `name` is `<provider>/<model>`. Keys are read where litellm does."""

    def __init__(self, name: str) -> None:
        if importlib.util.find_spec("litellm") is None:
            raise ModelMissing(f"{name}: {NEEDS_LITELLM}")
        self.id = name
        self.identity = f"{name}{_endpoint(name)}"
        self._litellm: Any = None
        self._takes: frozenset[str] = frozenset()  # of what OpenAI's models take
        self._structured = False
        self._importing = asyncio.Lock()

    def check(self) -> None:
        """Raise ModelMissing if litellm does not know the provider, or the environment lacks what it wants."""
        litellm = _litellm()
        try:
            litellm.get_llm_provider(model=self.id)
        except Exception:  # of many kinds
            provider = self.id.partition("/")[0]
            raise ModelMissing(f"{self.id}: litellm knows no provider '{provider}'") from None
        missing = litellm.validate_environment(model=self.id)["missing_keys"]
        if missing:
            raise ModelMissing(f"{self.id}: a key is missing; set it: export {' '.join(f'{k}=…' for k in missing)}")

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Return the reply to one request. See `Model`."""
        async with self._importing:
            if self._litellm is None:
                self._litellm = await asyncio.to_thread(_litellm)
                self._takes = frozenset(self._litellm.get_supported_openai_params(model=self.id) or ())
                self._structured = bool(self._litellm.supports_response_schema(model=self.id))
        if request.logprobs and not {"logprobs", "top_logprobs"} <= self._takes:
            raise ModelUnfit(f"{self.id} gives no log-probabilities; {NEED_LOGPROBS}")
        body = request_body(request, self.id, structured=self._structured)
        if "seed" not in self._takes:
            body.pop("seed", None)
        try:
            # One policy of retries rules, and it is not litellm's.
            answer = await self._litellm.acompletion(**body, timeout=NO_DEADLINE, num_retries=0, max_retries=0)
        except Exception as error:
            return self._refused_or_raise(error)
        return replace(reply_of(answer.model_dump()), cost=self._cost(answer))

    async def close(self) -> None:
        """Close the connections that litellm keeps."""
        if self._litellm is not None:
            await self._litellm.close_litellm_async_clients()
            # It would go on handing out the closed ones.
            self._litellm.in_memory_llm_clients_cache.flush_cache()

    def _cost(self, answer: Any) -> float | None:
        """Return the price of an answer by litellm's table, None where the table does not have it."""
        try:
            cost = float(self._litellm.completion_cost(completion_response=answer, model=self.id))
        except Exception:  # litellm raises a bare Exception for a model without a price
            return None
        return cost if cost or price_of(self.id) is not None else None  # nothing may mean that it is not known

    def _refused_or_raise(self, error: Exception) -> ChatReply:
        """Return the reply that stands for a request held back; raise our error for any other."""
        faults = self._litellm.exceptions
        if isinstance(error, faults.ContextWindowExceededError):
            return ChatReply("", "refused", TOO_LONG)
        if isinstance(error, faults.ContentPolicyViolationError):
            return ChatReply("", "refused", FILTERED)
        problem = " ".join(str(error).split())[:300]
        if isinstance(error, faults.UnsupportedParamsError):
            raise ModelUnfit(f"{self.id} cannot be asked at the temperature wanted; choose another model ({problem})")
        passing = (
            faults.RateLimitError,
            faults.ServiceUnavailableError,
            faults.InternalServerError,
            faults.APIConnectionError,
            faults.Timeout,
            TimeoutError,
        )
        # litellm takes what it cannot name for a connection fault; a key that is missing says so in its text.
        if isinstance(error, passing) and "api_key" not in problem.lower():
            headers = getattr(getattr(error, "response", None), "headers", None) or {}
            overload = isinstance(error, faults.RateLimitError | faults.ServiceUnavailableError | faults.Timeout)
            charged = not isinstance(error, faults.RateLimitError | faults.ServiceUnavailableError)
            wait = retry_after(headers.get("retry-after"))
            raise ModelUnavailable(f"{self.id}: {problem}", wait, overload=overload, charged=charged) from None
        if isinstance(error, faults.BadRequestError) and (held := refusal(problem)):
            return held
        if "logprobs" in problem:
            raise ModelUnfit(f"{self.id}: {problem}; {NEED_LOGPROBS}") from None
        raise ModelError(f"{self.id}: {problem}") from None


def _endpoint(name: str) -> str:
    """Return what tells another endpoint of a provider, where the environment names one, from its usual one."""
    provider = name.partition("/")[0].upper().replace("-", "_")
    named = [os.environ.get(f"{provider}_{what}") for what in ("API_BASE", "BASE_URL")]
    return f" at {digest(named)[:16]}" if any(named) else ""


def _litellm() -> Any:
    """Return litellm, told not to fetch its price list over the network nor to print advice."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    # pydantic's, about a type of litellm's own; nothing that a user could do anything about
    warnings.filterwarnings("ignore", message=".*is using the `ReadOnly` qualifier", category=UserWarning)
    import litellm

    litellm.suppress_debug_info = True
    return litellm
