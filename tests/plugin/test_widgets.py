"""The widgets in a real napari without a screen, where it is installed."""

import os
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of napari and its parts
    for needed in ("napari", "qtpy.QtWidgets", "magicgui", "napari.layers", "napari.components", "napari.qt.threading"):
        pytest.importorskip(needed, reason="needs napari and Qt (the extra napari)", exc_type=ImportError)

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def viewer():
    from napari.components import ViewerModel
    from qtpy.QtWidgets import QApplication

    application = QApplication.instance() or QApplication([])
    yield ViewerModel()
    application.processEvents()


def wait(widget, seconds=240.0):
    from qtpy.QtWidgets import QApplication

    deadline = time.monotonic() + seconds
    while not widget.run.enabled and time.monotonic() < deadline:
        QApplication.instance().processEvents()
        time.sleep(0.01)
    assert widget.run.enabled


def choose(widget, layer):
    widget.layer.choices = [layer]
    widget.layer.value = layer


def test_filter_widget_adds_a_layer(viewer):
    from whorl.plugin.widgets import FilterWidget

    data = np.random.default_rng(0).integers(0, 65535, (2, 40, 30)).astype(np.uint16)
    layer = viewer.add_image(data, name="cells", scale=(1.0, 4.0, 1.0))
    widget = FilterWidget(viewer)
    choose(widget, layer)
    assert widget.contrast.max == 65535
    assert not widget.sigma.enabled
    widget.model.value = "eed"
    assert widget.sigma.enabled
    widget.contrast.value, widget.time.value = 9000.0, 1.0
    widget.start()
    wait(widget)
    added = viewer.layers[-1]
    assert "eed" in added.name
    assert tuple(added.scale) == (1.0, 4.0, 1.0)
    assert added.data.dtype == np.uint16
    assert not np.array_equal(added.data, data)


def test_cancelling_adds_nothing(viewer):
    from whorl.plugin.widgets import FilterWidget

    layer = viewer.add_image(np.random.default_rng(0).normal(100, 20, (50, 256, 256)))
    widget = FilterWidget(viewer)
    choose(widget, layer)
    widget.contrast.value, widget.time.value = 9.0, 50.0
    widget.start()
    assert widget.cancel.enabled
    widget.stop()
    wait(widget)
    assert len(viewer.layers) == 1
    assert not widget.bar.visible


def until(condition, seconds=240.0):
    from qtpy.QtWidgets import QApplication

    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        QApplication.instance().processEvents()
        time.sleep(0.01)
    assert condition()


def test_a_volume_is_filtered_as_one(viewer):
    import whorl
    from whorl.plugin.widgets import FilterWidget

    data = np.random.default_rng(0).normal(100, 20, (9, 14, 12)).astype(np.float32)
    layer = viewer.add_image(data, name="tomogram", scale=(2.0, 1.0, 1.0))
    widget = FilterWidget(viewer)
    choose(widget, layer)
    assert widget.volume.enabled
    widget.model.value, widget.volume.value, widget.contrast.value, widget.time.value = "perona-malik", True, 9.0, 2.0
    widget.start()
    wait(widget)
    added = viewer.layers[-1]
    expected = whorl.diffuse(data, "perona-malik", contrast=9.0, time=2.0, spacing=(2.0, 1.0, 1.0))
    assert np.array_equal(added.data, expected)
    assert "in space" in added.name


def test_cancelling_a_volume_adds_nothing(viewer):
    from whorl.plugin.widgets import FilterWidget

    layer = viewer.add_image(np.random.default_rng(0).normal(100, 20, (60, 90, 90)))
    widget = FilterWidget(viewer)
    choose(widget, layer)
    widget.model.value, widget.volume.value = "perona-malik", True
    widget.contrast.value, widget.time.value = 9.0, 500.0
    widget.start()
    until(lambda: widget.job.share > 0)
    widget.stop()
    wait(widget)
    assert len(viewer.layers) == 1
    assert widget.job.share < 1


def test_the_current_slice_is_previewed_and_follows_the_viewer(viewer):
    from whorl.plugin.layers import filter_layer
    from whorl.plugin.widgets import FilterWidget

    data = np.random.default_rng(0).normal(100, 20, (9, 14, 12)).astype(np.float32)
    layer = viewer.add_image(data, name="tomogram")
    widget = FilterWidget(viewer)
    choose(widget, layer)
    widget.model.value, widget.volume.value, widget.contrast.value, widget.time.value = "perona-malik", True, 9.0, 1.0
    whole, _, _ = filter_layer(layer, "perona-malik", 9.0, 1.0, volume=True)

    def shows(expected):
        found = [other.data for other in viewer.layers if other.name.startswith("preview")]
        return len(found) == 1 and np.array_equal(found[0], expected)

    viewer.dims.set_point(0, 3)
    widget.preview.value = True
    until(lambda: shows(whole[3]))
    viewer.dims.set_point(0, 7)
    until(lambda: shows(whole[7]))
    widget.volume.value = False
    plane, _, _ = filter_layer(layer, "perona-malik", 9.0, 1.0)
    until(lambda: shows(plane[7]))
    widget.preview.value = False
    assert list(viewer.layers) == [layer]


def test_a_single_plane_is_no_volume(viewer):
    from whorl.plugin.widgets import FilterWidget

    layer = viewer.add_image(np.zeros((14, 12), np.float32))
    widget = FilterWidget(viewer)
    choose(widget, layer)
    assert not widget.volume.enabled


def test_denoise_widget(viewer):
    from whorl.plugin.widgets import DenoiseWidget

    data = np.random.default_rng(0).normal(100, 25, (40, 30)).astype(np.float32)
    layer = viewer.add_image(data)
    widget = DenoiseWidget(viewer)
    choose(widget, layer)
    widget.noise.value = 25.0
    widget.start()
    wait(widget)
    assert viewer.layers[-1].data.std() < 0.5 * data.std()


def test_the_manifest_is_valid():
    from importlib.resources import files

    from npe2 import PluginManifest

    manifest = PluginManifest.from_file(str(files("whorl") / "napari.yaml"))
    assert {widget.display_name for widget in manifest.contributions.widgets} == {
        "Filter by diffusion",
        "Remove noise",
        "Fill in",
    }


def test_fill_widget_fills_where_labels_are(viewer):
    from whorl.plugin.widgets import FillWidget

    data = np.tile(np.linspace(20, 200, 48, dtype=np.float32), (40, 1))
    broken, mask = data.copy(), np.zeros(data.shape, np.uint8)
    mask[18:22, 10:40] = 1
    broken[mask > 0] = 0
    layer, labels = viewer.add_image(broken, name="ramp"), viewer.add_labels(mask)
    widget = FillWidget(viewer)
    choose(widget, layer)
    widget.where.choices = [labels]
    widget.where.value = labels
    widget.start()
    wait(widget)
    filled = viewer.layers[-1].data
    assert np.array_equal(filled[mask == 0], data[mask == 0])
    assert abs(filled - data).max() < 20  # the holes were up to 160 away


@pytest.mark.skipif(not os.environ.get("DISPLAY"), reason="needs a screen, or: xvfb-run -a make test")
def test_the_sample_is_denoised_in_a_real_window():
    """As a user does it, by napari's menus; in a process of its own, since the others run without a screen."""
    code = """
import time, napari
from qtpy.QtWidgets import QApplication
viewer = napari.Viewer(show=False)
viewer.open_sample("whorl-imaging", "fingerprint")
_, widget = viewer.window.add_plugin_dock_widget("whorl-imaging", "Remove noise")
widget.start()
while not widget.run.enabled:
    QApplication.processEvents()
    time.sleep(0.01)
print(len(viewer.layers), viewer.layers[-1].name)
viewer.close()
"""
    screen = {**os.environ, "QT_QPA_PLATFORM": "xcb"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=280, env=screen)
    assert "3 fingerprint with noise 20 (denoised by photo-grey)" in done.stdout, done.stderr
