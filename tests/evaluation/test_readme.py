"""The figures that the README prints, computed again."""

import math
import re
from pathlib import Path

import pytest
import torch

import whorl
from whorl.data import RectangleSet
from whorl.evaluation import AngleTable, TestScenes, evaluate
from whorl.evaluation.reproduction import FULL_TEST, PAPER
from whorl.networks import load_card

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `([\w.-]+)`[^|]*\| ([\d.–]+) \| ([\d.]+) \| ([\d.]+) dB \|$", flags=re.MULTILINE)
TABLE = {name: (paper, float(variance), float(mean)) for name, paper, variance, mean in ROW.findall(README)}
FEW = 4


@pytest.fixture(scope="module")
def scenes() -> TestScenes:
    return TestScenes(RectangleSet(FEW))


def spread_over_images(table: AngleTable) -> float:
    """The variance of the images' mean PSNRs, in dB²."""
    each = 10 * torch.log10(table.value_range**2 / table.errors.double())
    return float(each.mean(0).var())


def test_the_table_lists_the_papers_networks_and_ours() -> None:
    assert list(TABLE) == [*PAPER, "whorl-28"]
    assert [TABLE[name][0] for name in PAPER] == [
        f"{claim.variance:g}".replace("e-0", "e-") for claim in PAPER.values()
    ]


@pytest.mark.parametrize("name", TABLE)
def test_a_few_images_agree_within_their_sampling_error(name: str, scenes: TestScenes) -> None:
    """The first images of the full test, at all its angles.

    A PSNR is the sum of an effect of the angle, an effect of the image and a rest of variance s². Over A angles and n
    images the variance over the angles is then expected to be V + s² (1 - 1/A) / n with the variance V of the angle
    effects. With the covariance S of the means of the rests over the images, centred over the angles, it scatters with
    the variance (4 a'S a + 2 tr S²) / A², where a are the angle effects, |a|² = A V. Neighbouring angles see nearly the
    same scene, so that their rests hang together in a way that is not known; but whatever S is, a'S a <= |a|² tr S and
    tr S² <= (tr S)², and tr S = q (A - 1) with q = s² / n. That makes 4 V q (A - 1) / A + 2 q² (A - 1)² / A² at most.
    The full test is such a number with more images. Both together are allowed four standard deviations.
    """
    _, printed, mean = TABLE[name]
    network = whorl.load(name)
    found = evaluate(network, scenes)
    angles = len(found.angles)
    share = found.expected_variance()  # s² (1 - 1/A) / n
    share_of_all = share * FEW / FULL_TEST
    effect = max(printed - share_of_all, 0.0)
    scatter = 0.0
    for chance in (share, share_of_all):
        q = chance / (1 - 1 / angles)
        scatter += 4 * effect * q * (angles - 1) / angles + 2 * q**2 * ((angles - 1) / angles) ** 2
    rounding = 0.05 * 10 ** math.floor(math.log10(printed))  # two digits are printed
    assert found.variance == pytest.approx(effect + share, abs=4 * math.sqrt(scatter) + rounding)
    by_image = spread_over_images(found) * (1 / FEW - 1 / FULL_TEST)
    assert found.mean == pytest.approx(mean, abs=4 * math.sqrt(by_image) + 0.05)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", TABLE)
def test_the_full_test_gives_the_printed_digits(name: str) -> None:
    _, printed, mean = TABLE[name]
    found = evaluate(whorl.load(name), TestScenes(RectangleSet(FULL_TEST)))
    assert float(f"{found.variance:.2g}") == pytest.approx(printed, rel=0.03)
    assert found.mean == pytest.approx(mean, abs=0.05)


@pytest.mark.parametrize("name", TABLE)
def test_the_table_is_that_of_the_shipped_seed(name: str) -> None:
    figures = load_card(name).run().figures
    assert TABLE[name][1] == float(f"{figures['scene_variance']:.2g}")
    assert TABLE[name][2] == float(f"{figures['scene_mean']:.1f}")


def test_the_targets_are_counted_right() -> None:
    """The README's count of targets is that of the table in the documentation."""
    table = (ROOT / "docs" / "benchmarks" / "targets.inc").read_text(encoding="utf-8")
    verdicts = re.findall(r"^     - (met|missed|missing)$", table, flags=re.MULTILINE)
    total, met, missed = map(
        int, re.findall(r"(\d+) targets[^:]*: in the committed run (\d+) were met and (\d+)", README)[0]
    )
    assert (total, met, missed) == (len(verdicts), verdicts.count("met"), len(verdicts) - verdicts.count("met"))
