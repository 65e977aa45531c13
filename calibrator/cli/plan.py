"""`calibrate plan`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibrator.cli import options as o

if TYPE_CHECKING:
    from calibrator.calibration.config import RunConfig
    from calibrator.calibration.method import Method
    from calibrator.calibration.prepare import Prepared

NOBODY = "http://localhost/v1#nobody"  # opening it needs no package, no key and no server


@o.taking(o.DATA, o.COLUMNS)
def plan(
    expect: Annotated[
        float | None, typer.Option(help="The correlation you expect of your judge; the pilot's otherwise.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Decides the split and the resamples.")] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            "-m",
            help="Who would judge; it is asked nothing and need not be there.",
            rich_help_panel=o.MODELS,
        ),
    ] = None,
    config: o.Config = None,
    as_json: o.Json = False,
    *,
    said: dict[str, Any],
) -> None:
    """Before a run: how wide the interval will be, how many labels a narrower one takes, and how much work it is."""
    from calibrator.calibration.config import make_config

    more = {k: v for k, v in (("seed", seed), ("model", model)) if v is not None}
    _tell(make_config(**o.settled(said | more, config)), expect, as_json)


def _tell(config: RunConfig, expect: float | None, as_json: bool) -> None:
    """Work the plan out and print it. Raises ConfigError if what is expected is no correlation."""
    import json

    from calibrator.calibration.config import check_models
    from calibrator.calibration.prepare import plan as work_of
    from calibrator.calibration.prepare import prepare
    from calibrator.calibration.purpose import purpose_of
    from calibrator.errors import ConfigError
    from calibrator.evaluation.planning import outlook
    from calibrator.report.console import make_console, tell_aside
    from calibrator.report.plan import outlook_to_json, show_outlook
    from calibrator.report.terminal import show_plan

    if expect is not None and not abs(expect) < 1:
        raise ConfigError(f"--expect: {expect:g} is no correlation to expect; give one between -1 and 1, e.g. 0.6")
    check_models(config)
    prepared = prepare(config)
    method = _method(config, prepared)
    work, split = work_of(config, prepared, method), prepared.split
    own = config.test is not None
    found = outlook(split.train + split.dev, len(split.test), config.seed, expect, own_test_file=own)
    if as_json:
        tell_aside(prepared.warnings)
        print(json.dumps(outlook_to_json(found, prepared, work), ensure_ascii=False, indent=1))
        return
    console = make_console()
    show_plan(console, prepared, config, work, method, purpose_of(config, prepared))
    show_outlook(console, found, len(prepared.dataset.items), split.test.groups)


def _method(config: RunConfig, prepared: Prepared) -> Method:
    """Return the method of the run, with models that cannot be asked: one that is planned for need not be there."""
    from calibrator.calibration.config import CRITERIA
    from calibrator.calibration.method import embedded, with_model
    from calibrator.models.build import Access, Connections

    if config.model is None:
        return embedded(prepared.aspect, config.objective, config.shots)
    drafters = ",".join(CRITERIA if d == CRITERIA else NOBODY for d in config.drafters)
    nobody = config.model_copy(update={"model": NOBODY, "drafter": drafters})
    with Connections(Access()) as connections:
        return with_model(nobody, prepared.aspect, prepared.roles, connections)
