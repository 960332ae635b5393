"""``whorl invariance``: how far a model is from commuting with rotations."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whorl.cli.options import Alpha, AsJson, Contrast, DeviceName, Force, Gamma, Quiet, Threads, option, prepare

if TYPE_CHECKING:
    from rich.table import Table

    from whorl.invariance.evidence import Exhibit
    from whorl.invariance.untold import Plane

EXAMPLES = (
    "whorl invariance",
    "whorl invariance --model weickert-brox",
    "whorl invariance --model perona-malik --contrast 12 --time 8 --plot evidence.png",
    "whorl invariance --model uncoupled --json",
)


def command(
    model: Annotated[
        str | None, option("--model -m", "Name of the model; `whorl models` lists them. Default: what people get.")
    ] = None,
    contrast: Contrast = None,
    time: Annotated[
        float | None, option("--time -t", "Diffusion time. Default: one that suits the model.", min=0.0)
    ] = None,
    alpha: Alpha = None,
    gamma: Gamma = None,
    plot: Annotated[Path | None, option("--plot -p", "Draw the evidence into this PNG, PDF or SVG.")] = None,
    as_json: AsJson = False,
    device: DeviceName = "cpu",
    threads: Threads = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Measure how far filters are from commuting with rotations.

    Without --model it measures what people get: a noisy scene, upright and turned, is filtered with nothing told, and
    both results are compared at the pixels they share. Beside it stand linear and uncoupled diffusion, and filters of
    other libraries that are installed, each told the strength that has the best PSNR.

    With --model there are four measurements, none of which resamples a picture: quarter turns and mirror images; a
    radial hill compared at pixels of equal radius; a whorl turned by Pythagorean angles, compared at the pixels both
    lattices share; and by any angle, compared at turning points. Errors are relative to the change the filter made. A
    fifth one filters the quarter turns and mirror images of a noisy picture with contrast and time measured on each.

    Beside the model stands its uncoupled twin, which activates every direction for itself. Without --contrast and
    --time each model is measured where its nonlinearity is at work and its flow well-posed.
    """
    from whorl.cli.progress import progress
    from whorl.foundations.atomic import beside, check_target
    from whorl.invariance.evidence import examine

    if plot is not None:
        check_target(plot, force)
    place = prepare(device, threads)
    if model is None:
        if plot is not None or any(each is not None for each in (contrast, time, alpha, gamma)):
            raise ValueError("invariance: --contrast, --time, --alpha, --gamma and --plot need a --model.")
        return _what_people_get(as_json, quiet)
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


def ours(noise: float = 20.0) -> "dict[tuple[str, str], Plane]":
    """Filters as people call them, by name and by what they tell: nothing, or the noise."""
    from whorl import denoise, diffuse

    told = {("whorl filter", f"noise {noise:g}"): lambda u: diffuse(u, noise=noise)}
    return {("whorl filter", "nothing"): diffuse, ("whorl denoise", "nothing"): denoise, **told}


def _what_people_get(as_json: bool, quiet: bool) -> None:
    from dataclasses import asdict

    from rich.console import Console
    from rich.table import Table

    from whorl.cli.progress import progress
    from whorl.foundations.strict_json import strict_json
    from whorl.invariance.untold import OTHERS, TURNS, beside_others

    rows = []
    others = len(OTHERS) + len(ours()) + 1
    with progress("filtering", total=others, quiet=quiet) as advance:
        for row in beside_others(ours()):
            rows.append(row)
            advance(1)
    if as_json:
        typer.echo(strict_json([asdict(row) for row in rows], indent=2))
    elif not quiet:
        result = Table(
            title="a noisy scene, upright and turned",
            caption="turn errors are relative to the change the filter made; nothing was interpolated",
        )
        result.add_column("filter")
        for name in ("told", "PSNR", *(f"turned {turn}" for turn in TURNS)):
            result.add_column(name, justify="right")
        for row in rows:
            errors = (f"{error:.4f}" if row.told != "–" else "–" for error in row.errors.values())
            result.add_row(row.name, row.told, f"{row.psnr:.2f} dB", *errors)
        Console().print(result)


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
