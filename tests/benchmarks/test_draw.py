"""Figures and tables from made-up result files: everything is drawn, names cover nothing."""

from pathlib import Path

import matplotlib as mpl
import pytest
from benchmarks.draw import _label, draw
from benchmarks.results import Document
from matplotlib.text import Text


@pytest.fixture(autouse=True)
def no_window() -> None:
    mpl.use("Agg")


def test_results_become_figures_and_tables(tmp_path: Path) -> None:
    turn = Document("quality_turn", "command", folder=tmp_path / "results")
    turn.with_case("turn", [{"method": f"{m}-eed", "psnr": 30.0, "turn_error": 0.02} for m in ("whorl", "itk")])
    time = Document("speed_time", "command", folder=tmp_path / "results")
    schemes = {"explicit": (1.0, 0.1), "fed": (0.3, 0.3), "some-new": (0.1, 0.25)}
    rows = [{"method": f"whorl-eed {s}", "time": 50.0, "best_s": t, "error": e} for s, (t, e) in schemes.items()]
    time.with_case("eed, t = 50", rows)
    written = {path.name for path in draw(tmp_path / "results", tmp_path / "out")}
    assert written == {"turn.svg", "schemes.svg", "quality_turn-0.inc", "speed_time-0.inc", "targets.inc"}
    assert "whorl-eed some-new" in (tmp_path / "out" / "speed_time-0.inc").read_text()
    assert "missed" in (tmp_path / "out" / "targets.inc").read_text()


def test_names_of_close_points_do_not_overlap() -> None:
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(7, 5))
    points = [(1.0 + 0.01 * i, 1.0 + 0.005 * i, f"method-{i}") for i in range(6)] + [(2.0, 2.0, "far"), (0.0, 0.0, "o")]
    for x, y, _ in points:
        axis.plot(x, y, "o")
    figure.canvas.draw()
    _label(axis, points)
    figure.canvas.draw()
    boxes = [Text.get_window_extent(note) for note in axis.texts]  # an annotation's own counts its line as well
    plt.close(figure)
    assert len(boxes) == len(points)
    clashes = [(i, j) for i, a in enumerate(boxes) for j, b in enumerate(boxes[:i]) if a.shrunk(0.9, 0.7).overlaps(b)]
    assert clashes == []
