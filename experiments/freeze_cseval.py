"""Calibrate and freeze the four CSEval aspects that are shipped in `rubrics/frozen/cseval/`.

    python experiments/freeze_cseval.py [--data-dir DIR]

Runs `calibrate run --aspect A --data cseval --out rubrics/frozen/cseval/A.yaml` for each aspect, with every setting
at its default, and prints the outcome of each. Needs the data set cseval in $CALIBRATOR_DATA.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    program = Path(sys.executable).parent / "calibrate"
    with tempfile.TemporaryDirectory() as runs:
        for aspect in ("relevance", "coherence", "aggressiveness", "suitableness"):
            out = ROOT / "rubrics" / "frozen" / "cseval" / f"{aspect}.yaml"
            command = [program, "run", "--aspect", aspect, "--data", "cseval", "--out", out, "--runs-dir", runs, "-q"]
            subprocess.run([*map(str, command), *sys.argv[1:]], check=True)


if __name__ == "__main__":
    main()
