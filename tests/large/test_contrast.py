"""The contrast that is measured is the typical one, whatever a few strong edges do."""

import numpy as np
import pytest

from whorl.large.contrast import typical_contrast
from whorl.models import build


def test_it_is_the_median_and_not_the_mean():
    """Six columns in ten rise by 3 grey values, the others by 60: the median response is 3, the mean above 20."""
    rise = np.where(np.arange(100) < 60, 3.0, 60.0)
    image = np.tile(np.cumsum(rise), (50, 1))[None]
    found = typical_contrast(build("perona-malik"), [image])
    assert found == pytest.approx(3.0)
