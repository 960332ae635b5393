"""``whorl invariance``: how far a model is from commuting with rotations."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whorl.cli.options import Alpha, AsJson, Contrast, DeviceName, Force, Gamma, Quiet, Threads

if TYPE_CHECKING:
    from rich.table import Table

    from whorl.invariance.evidence import Exhibit

EXAMPLES = (
    "whorl invariance --model weickert-brox",
    "whorl invariance --model perona-malik --contrast 12 --time 8 --plot evidence.png",
    "whorl invariance --model uncoupled --json",
)


def command(
    model: Annotated[str, typer.Option("--model", "-m", help="Name of the model; `whorl models` lists them.")],
    contrast: Contrast = None,
    time: Annotated[
        float | None, typer.Option("--time", "-t", min=0.0, help="Diffusion time. Default: one that suits the model.")
    ] = None,
    alpha: Alpha = None,
    gamma: Gamma = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", "-p", help="Draw the evidence into this PNG, PDF or SVG.")
    ] = None,
    as_json: AsJson = False,
    device: DeviceName = "cpu",
    threads: Threads = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Measure how far a model is from commuting with rotations.

    Four measurements, none of which resamples a picture: quarter turns and mirror images; a radial hill compared at
    pixels of equal radius; a whorl turned by Pythagorean angles, compared at the pixels both lattices share; and by any
    angle, compared at turning points. Errors are relative to the change the filter made. A fifth one filters the
    quarter turns and mirror images of a noisy picture with contrast and time measured on each.

    Beside the model stands its uncoupled twin, which activates every direction for itself. Without --contrast and
    --time each model is measured where its nonlinearity is at work and its flow well-posed.
    """
    from whorl.cli.machine import prepare
    from whorl.cli.progress import progress
    from whorl.foundations.atomic import beside, check_target
    from whorl.invariance.evidence import examine

    if plot is not None:
        check_target(plot, force)
    place = prepare(device, threads)
    options: dict[str, Any] = {} if alpha is None else {"alpha": alpha}
    with progress(f"measuring {model}", total=1.0, quiet=quiet) as advance:
        exhibit, other = examine(
            model, contrast=contrast, time=time, gamma=gamma, device=place, progress=advance, **options
        )
    if as_json:
        from whorl.foundations.strict_json import strict_json

        typer.echo(strict_json(_report(exhibit, other), indent=2))
    elif not quiet:
        from rich.console import Console

        Console().print(table(exhibit, other))
    if plot is not None:
        from whorl.invariance.chart import draw_evidence

        with beside(plot, force) as part:
            draw_evidence(exhibit, part, beside=other, format=plot.suffix.removeprefix(".") or "png")


def table(exhibit: "Exhibit", other: "Exhibit | None") -> "Table":
    """The measurements as a rich table, one row each."""
    from rich.table import Table

    setting = (
        f"contrast {exhibit.setting.contrast:.4g}, time {exhibit.setting.time:.4g}, channels {exhibit.setting.channels}"
    )
    result = Table(
        title=f"[bold]{exhibit.name}[/bold]: rotation error ({setting})",
        caption="relative to the change the filter made; nothing was interpolated",
    )
    result.add_column("measurement")
    result.add_column(exhibit.name, justify="right", style="bold")
    if other is not None:
        result.add_column(other.name, justify="right")
        result.add_column("ratio", justify="right", style="dim")
    columns = [_rows(e) for e in (exhibit, other) if e is not None]
    for name, text, value in columns[0]:
        if other is None:
            result.add_row(name, text)
            continue
        against, reference = next(((shown, number) for row, shown, number in columns[1] if row == name), ("", 0.0))
        ratio = f"{reference / value:.3g}" if value > 0 and against and "ulp" not in name else ""
        result.add_row(name, text, against, ratio, end_section=name.startswith("hill"))
    return result


def _rows(exhibit: "Exhibit") -> list[tuple[str, str, float]]:
    error = exhibit.error
    rows = [
        ("quarter turns and mirrors, in ulp", f"{error.symmetries.ulp:.3g}", error.symmetries.ulp),
        (f"hill at radius {error.radius.radius}", f"{error.radius.relative:.1e}", error.radius.relative),
    ]
    if exhibit.defaults is not None:
        value = exhibit.defaults.relative
        rows.insert(1, ("the same with noise, nothing told", f"{value:.1e}", value))
    turned = [(e.angle, "shared pixels", e.relative) for e in error.turns]
    turned += [(e.angle, "turning points", e.relative) for e in error.angles]
    rows += [
        (f"whorl turned by {angle:.1f}°, {where}", f"{value:.1e}", value) for angle, where, value in sorted(turned)
    ]
    return rows


def _report(exhibit: "Exhibit", other: "Exhibit | None") -> dict[str, Any]:
    report: dict[str, Any] = {"model": exhibit.name}
    report |= {"contrast": exhibit.setting.contrast, "time": exhibit.setting.time, "channels": exhibit.setting.channels}
    report |= exhibit.error.as_dict()
    report["defaults"] = None if exhibit.defaults is None else exhibit.defaults.relative
    report["beside"] = None if other is None else {"name": other.name} | other.error.as_dict()
    return report
