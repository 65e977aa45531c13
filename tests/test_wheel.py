"""A built wheel, installed into an empty environment, runs the demonstration from any folder."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_the_wheel_runs_the_demonstration_from_any_folder(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path / "dist"), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True, timeout=300)
    wheel = next((tmp_path / "dist").glob("*.whl"))
    place = tmp_path / "env"
    venv.create(place, with_pip=True)
    python = place / "bin" / "python"
    constraints = ["--constraint", str(ROOT / "constraints.txt")]
    install = [str(python), "-m", "pip", "install", "--quiet", *constraints, str(wheel)]
    subprocess.run(install, check=True, capture_output=True, timeout=600)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    program = str(place / "bin" / "calibrate")

    def said(*arguments: str) -> str:
        command = [program, *arguments]
        done = subprocess.run(command, cwd=elsewhere, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    said("run", "--aspect", "relevance", "-q")
    assert (elsewhere / "rubrics" / "frozen" / "relevance.yaml").is_file()
    assert '{"score":' in said("export", "cseval/coherence", "--to", "prompt")
