"""Find the rubric with which a judge agrees best with human ratings, prove it on unseen data, and freeze it.

from calibrator import load_judge

judge = load_judge("relevance")                 # a name or the path of a frozen judge
judge.score(source="…", output="…")             # a number on the aspect's scale, or ScoringFailed
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = ["__version__", "load_judge"]

if TYPE_CHECKING:
    from calibrator.judges.build import load_judge


def __getattr__(name: str) -> Any:
    """Import `load_judge` when it is first asked for, so that importing the package costs nothing."""
    if name == "load_judge":
        from calibrator.judges.build import load_judge

        return load_judge
    raise AttributeError(f"module 'calibrator' has no attribute '{name}'")
