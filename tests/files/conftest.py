import os
import shutil
import tempfile
from pathlib import Path

import pytest


@pytest.fixture
def unprivileged():
    """An empty folder, seen by a user who is not root: root may read and write everything."""
    folder = Path(tempfile.mkdtemp())
    root = os.geteuid() == 0
    if root:
        os.chown(folder, 65534, 65534)
        os.seteuid(65534)
    yield folder
    if root:
        os.seteuid(0)
    shutil.rmtree(folder)
