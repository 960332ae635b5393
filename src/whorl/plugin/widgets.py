"""The widgets: choose a layer and numbers, compute in a thread, watch, cancel.

napari and its parts are imported here only, when napari asks for a widget.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from magicgui.widgets import ComboBox, Container, FloatSpinBox, ProgressBar, PushButton, create_widget
from napari.layers import Image
from napari.qt.threading import create_worker
from napari.utils.notifications import show_info
from qtpy.QtCore import QTimer

from whorl.models import names, row
from whorl.networks import available
from whorl.plugin.layers import Cancelled, Job, LayerData, contrast_range, denoise_layer, filter_layer

if TYPE_CHECKING:
    import napari.viewer

__all__ = ["DenoiseWidget", "FilterWidget"]

MILLISECONDS = 100
"""Between two looks at how far the computation is."""


class _LayerWidget(Container):  # type: ignore[misc]
    """A layer, some numbers, a button to start, one to stop, and a bar."""

    def __init__(self, viewer: "napari.viewer.Viewer", numbers: list[Any]) -> None:
        self.layer = create_widget(annotation=Image, label="Layer")
        self.run = PushButton(text="Run")
        self.cancel = PushButton(text="Cancel", enabled=False)
        self.bar = ProgressBar(value=0, max=100, visible=False)
        super().__init__(widgets=[self.layer, *numbers, self.run, self.cancel, self.bar])
        self.viewer, self.job = viewer, Job()
        self.worker: Any = None
        self.timer = QTimer()
        self.timer.setInterval(MILLISECONDS)
        self.timer.timeout.connect(self._look)
        self.run.changed.connect(lambda: self.start())
        self.cancel.changed.connect(lambda: self.stop())

    @abstractmethod
    def work(self, layer: Image, job: Job) -> Callable[[], LayerData]:
        """The computation with the numbers as they are now."""

    def start(self) -> None:
        """Compute in a thread; the viewer stays usable."""
        layer = self.layer.value
        if layer is None:
            show_info("whorl: there is no image layer. Open a picture first.")
            return
        self.job = Job()
        self.worker = create_worker(self.work(layer, self.job), _start_thread=False)
        self.worker.returned.connect(self._add)
        self.worker.errored.connect(self._failed)
        self.worker.finished.connect(self._ended)
        self.run.enabled, self.cancel.enabled, self.bar.visible, self.bar.value = False, True, True, 0
        self.timer.start()
        self.worker.start()

    def stop(self) -> None:
        """Stop after the window that is being computed."""
        self.job.cancelled = True

    def _look(self) -> None:
        self.bar.value = min(100, int(100 * self.job.share))

    def _add(self, found: LayerData) -> None:
        data, how, _ = found
        self.viewer.add_image(data, **how)

    def _failed(self, error: BaseException) -> None:
        show_info("whorl: cancelled, nothing was added." if isinstance(error, Cancelled) else f"whorl: {error}")

    def _ended(self) -> None:
        self.timer.stop()
        self.run.enabled, self.cancel.enabled, self.bar.visible = True, False, False


class FilterWidget(_LayerWidget):
    """Smooth a layer with a diffusion model."""

    def __init__(self, napari_viewer: "napari.viewer.Viewer") -> None:
        self.model = ComboBox(label="Model", choices=names(), value="weickert-brox")
        self.contrast = FloatSpinBox(label="Contrast (0: from the noise)", value=0.0, min=0.0, max=255.0)
        self.time = FloatSpinBox(label="Time", value=5.0, min=0.0, max=10_000.0)
        self.sigma = FloatSpinBox(label="Sigma", value=1.0, min=0.0, max=100.0, step=0.1, enabled=False)
        super().__init__(napari_viewer, [self.model, self.contrast, self.time, self.sigma])
        self.model.changed.connect(lambda _: self._fit_model())
        self.layer.changed.connect(lambda _: self._fit_layer())
        self._fit_layer()

    def work(self, layer: Image, job: Job) -> Callable[[], LayerData]:
        model, contrast, time = self.model.value, self.contrast.value, self.time.value
        sigma = self.sigma.value if self.sigma.enabled else None
        return lambda: filter_layer(layer, model, contrast, time, sigma, job)

    def _fit_model(self) -> None:
        self.sigma.enabled = "sigma" in row(self.model.value).options

    def _fit_layer(self) -> None:
        layer = self.layer.value
        if layer is not None:
            self.contrast.max = contrast_range(layer.dtype, tuple(layer.contrast_limits_range))


class DenoiseWidget(_LayerWidget):
    """Remove noise from a layer with a trained network."""

    def __init__(self, napari_viewer: "napari.viewer.Viewer") -> None:
        self.network = ComboBox(label="Network", choices=available(), value="anisotropic-0.41")
        self.noise = FloatSpinBox(label="Noise (0: estimate)", value=0.0, min=0.0, max=65_535.0)
        super().__init__(napari_viewer, [self.network, self.noise])

    def work(self, layer: Image, job: Job) -> Callable[[], LayerData]:
        network, noise = self.network.value, self.noise.value
        return lambda: denoise_layer(layer, network, noise, job)
