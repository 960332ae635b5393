"""What stands for a huge picture: windows spread evenly, or, where they show nothing, those that show most."""

import numpy as np
import torch

import whorl
from whorl import large
from whorl.automatic.samples import samples_of


def scan(top: int, left: int) -> torch.Tensor:
    """Paper with a noisy section that lies between the windows of the samples."""
    u = torch.full((1, 1, 2600, 1400), 255.0)
    section = 120 + 12 * torch.randn(200, 180, generator=torch.Generator().manual_seed(0))
    u[..., top : top + 200, left : left + 180] = section
    return u


def test_content_between_the_windows_is_found_and_is_the_same_for_mirror_images():
    u = scan(500, 330)
    assert all(bool((part == 255).all()) for part in samples_of(u)[:16])
    found = samples_of(u)[16:]
    assert sum(int((part != 255).sum()) for part in found) > 0.8 * 200 * 180
    turned = samples_of(u.flip(-1).mT)[16:]
    sums = [sorted(float(part.double().sum()) for part in parts) for parts in (found, turned)]
    assert len(found) == len(turned)
    np.testing.assert_allclose(*sums, rtol=1e-12)


def test_a_huge_scan_with_little_on_it_is_filtered():
    scanned = scan(500, 330)[0, 0].numpy()
    settings = whorl.automatic.automatic_settings("perona-malik", samples_of(torch.from_numpy(scanned)[None, None]))
    assert 10 < settings.noise < 14
    result = large.map(scanned, "perona-malik")
    assert result[520:680, 350:490].std() < 6


def test_paper_with_nothing_on_it_stays_paper():
    blank = torch.full((1, 1, 1300, 1200), 7.0)
    assert len(samples_of(blank)) == 16
