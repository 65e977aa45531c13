"""What several tests share: where the real data is, and small data sets that the tests make."""

from __future__ import annotations

import csv
import os
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from calibrator.records import Item
from calibrator.texts import digest

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the command line has it; before numpy is imported
ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared" / "data"


def _real_data() -> Path | None:
    named = os.environ.get("CALIBRATOR_DATA")
    found = Path(named) if named else SHARED
    return found if (found / "cseval" / "recorded_judges.csv").exists() else None


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real rated data; the test is skipped where it is absent."""
    found = _real_data()
    if found is None:
        pytest.skip("the real data is absent: set CALIBRATOR_DATA to the folder that holds cseval/")
    return found


WORDS = "river garden window market street teacher music paper bridge winter coffee letter summer doctor".split()


def make_items(count: int = 60, groups: int = 20, seed: int = 0, scale: tuple[float, float] = (1, 5)) -> list[Item]:
    """Return mild items whose rating follows from what is in them: longer and more on topic is better, with noise."""
    draw = random.Random(seed)
    items = []
    for k in range(count):
        source = " ".join(draw.choices(WORDS, k=6)) + f" number {k % groups}."
        shared, more = draw.randint(0, 4), draw.randint(1, 20)
        output = " ".join(draw.sample(source.split(), shared) + draw.choices(WORDS, k=more)) + draw.choice(".?!")
        merit = shared / 4 + more / 20 + draw.gauss(0, 0.2)
        human = min(scale[1], max(scale[0], round(scale[0] + merit * (scale[1] - scale[0]) / 2)))
        key = digest([source, output, {}])
        items.append(
            Item(
                id=f"i{k}", output=output, source=source, group=f"g{k % groups}", ratings=(human,), human=human, key=key
            )
        )
    return items


@pytest.fixture
def items() -> list[Item]:
    return make_items()


@pytest.fixture
def write_csv(tmp_path: Path) -> Callable[..., Path]:
    """Write rows (dicts) to a CSV file in the test's folder and return where it is."""

    def write(rows: Sequence[dict[str, object]], name: str = "data.csv") -> Path:
        path = tmp_path / name
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        return path

    return write


def rated_rows(count: int = 40, groups: int = 14, seed: int = 0) -> list[dict[str, object]]:
    """Return rows of a table as users have them: input, output, human_score."""
    return [{"input": i.source, "output": i.output, "human_score": i.human} for i in make_items(count, groups, seed)]


Calibrate = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def calibrate(tmp_path: Path) -> Calibrate:
    """Run the installed `calibrate` in the test's folder and return what it said."""

    def run(*arguments: object, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        program = Path(sys.executable).parent / "calibrate"
        environment = {k: v for k, v in os.environ.items() if k != "CALIBRATOR_DATA"} | (env or {})
        return subprocess.run(
            [str(program), *map(str, arguments)],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run
