"""The widgets: choose a layer and numbers, see the current slice at once, compute in a thread, watch, cancel.

napari and its parts are imported here only, when napari asks for a widget.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from magicgui.widgets import CheckBox, ComboBox, Container, FloatSpinBox, ProgressBar, PushButton, create_widget
from napari.layers import Image, Labels
from napari.qt.threading import create_worker
from napari.utils.notifications import show_info
from qtpy.QtCore import QTimer

from whorl.models import names, row
from whorl.networks import available, photo_networks
from whorl.plugin.layers import (
    Cancelled,
    Job,
    LayerData,
    contrast_range,
    denoise_layer,
    fill_layer,
    filter_layer,
    preview_plane,
)

if TYPE_CHECKING:
    import napari.viewer

MILLISECONDS = 100
"""Milliseconds between two looks at how far the computation is."""

PAUSE = 250
"""Milliseconds without a change after which a preview is computed."""


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
        try:
            work = self.work(layer, self.job)
        except ValueError as error:
            show_info(f"whorl: {error}")
            return
        self.worker = create_worker(work, _start_thread=False, _ignore_errors=True)
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
        self.bar.max = 0 if self.job.measuring else 100  # without an end while the noise is measured
        if not self.job.measuring:
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
    """Smooth a layer with a diffusion model, plane by plane or as a volume."""

    def __init__(self, napari_viewer: "napari.viewer.Viewer") -> None:
        self.model = ComboBox(label="Model", choices=names(), value="weickert-brox")
        self.volume = CheckBox(label="Volume (last three axes)", value=False, enabled=False)
        self.contrast = FloatSpinBox(label="Contrast (0: from the noise)", value=0.0, min=0.0, max=255.0)
        self.time = FloatSpinBox(label="Time (0: from the noise)", value=0.0, min=0.0, max=10_000.0)
        self.sigma = FloatSpinBox(label="Sigma", value=1.0, min=0.0, max=100.0, step=0.1, enabled=False)
        self.preview = CheckBox(label="Preview the current slice", value=False)
        numbers = [self.model, self.volume, self.contrast, self.time, self.sigma]
        super().__init__(napari_viewer, [*numbers, self.preview])
        self.model.changed.connect(lambda _: self._fit_model())
        self.layer.changed.connect(lambda _: self._fit_layer())
        self._preview_job = Job()
        self._shown: Any = None
        self._looking: Any = None
        self.soon = QTimer()
        self.soon.setSingleShot(True)
        self.soon.setInterval(PAUSE)
        self.soon.timeout.connect(self._begin_preview)
        for number in (*numbers, self.layer):
            number.changed.connect(lambda _: self._preview_soon())
        self.preview.changed.connect(lambda wanted: self._preview_soon() if wanted else self._end_preview())
        self.viewer.dims.events.point.connect(lambda _: self._preview_soon())
        self._fit_layer()

    def work(self, layer: Image, job: Job) -> Callable[[], LayerData]:
        model, contrast, time, sigma = self._numbers()
        volume = self.volume.value
        return lambda: filter_layer(layer, model, contrast, time, sigma, job, volume=volume)

    def _numbers(self) -> tuple[str, float, float, float | None]:
        sigma = self.sigma.value if self.sigma.enabled else None
        return self.model.value, self.contrast.value, self.time.value, sigma

    def _fit_model(self) -> None:
        self.sigma.enabled = row(self.model.value).sigma > 0

    def _fit_layer(self) -> None:
        layer = self.layer.value
        if layer is not None:
            self.contrast.max = contrast_range(layer.dtype, tuple(layer.contrast_limits_range))
            self.volume.enabled = layer.ndim >= 3
            self.volume.value = self.volume.value and self.volume.enabled

    def _preview_soon(self) -> None:
        """A change: forget the preview that is being computed, and start another once there is no further change."""
        self._preview_job.cancelled = True
        if self.preview.value:
            self.soon.start()

    def _begin_preview(self) -> None:
        layer = self.layer.value
        if layer is None or not self.preview.value or layer is self._shown:
            return
        model, contrast, time, sigma = self._numbers()
        volume, job = self.volume.value, Job()
        place = self._place(layer)
        self._preview_job = job
        self._looking = create_worker(
            lambda: (layer, preview_plane(layer, place, model, contrast, time, sigma, job, volume=volume)),
            _start_thread=False,
            _ignore_errors=True,
        )
        self._looking.returned.connect(lambda found: self._show(found[0], found[1], job))
        self._looking.errored.connect(self._preview_failed)
        self._looking.start()

    def _place(self, layer: Image) -> tuple[int, ...]:
        """The index of the slice on show along the leading axes of the layer."""
        data = layer.data[0] if layer.multiscale else layer.data
        leading = data.ndim - bool(layer.rgb) - 2
        point = layer.world_to_data(self.viewer.dims.point)[-(leading + 2) :]
        sizes = data.shape[:leading]
        return tuple(min(max(round(float(p)), 0), size - 1) for p, size in zip(point, sizes, strict=False))

    def _show(self, layer: Image, plane: Any, job: Job) -> None:
        """Put the plane over the layer; a preview that came too late is dropped."""
        if job.cancelled or not self.preview.value:
            return
        self._end_preview()
        self._shown = self.viewer.add_image(
            plane, name=f"preview of {layer.name}", rgb=bool(layer.rgb), scale=layer.scale[-2:],
            translate=layer.translate[-2:], contrast_limits=layer.contrast_limits, colormap=layer.colormap.name,
        )  # fmt: skip

    def _end_preview(self) -> None:
        if self._shown is not None and self._shown in self.viewer.layers:
            self.viewer.layers.remove(self._shown)
        self._shown = None

    def _preview_failed(self, error: BaseException) -> None:
        if not isinstance(error, Cancelled):
            show_info(f"whorl: no preview: {error}")


class DenoiseWidget(_LayerWidget):
    """Remove noise from a layer with a trained network."""

    def __init__(self, napari_viewer: "napari.viewer.Viewer") -> None:
        self.network = ComboBox(label="Network", choices=["auto", *photo_networks(), *available()], value="auto")
        self.noise = FloatSpinBox(label="Noise (0: estimate)", value=0.0, min=0.0, max=65_535.0)
        super().__init__(napari_viewer, [self.network, self.noise])

    def work(self, layer: Image, job: Job) -> Callable[[], LayerData]:
        network, noise = self.network.value, self.noise.value
        return lambda: denoise_layer(layer, network, noise, job)


class FillWidget(_LayerWidget):
    """Fill in what a layer of labels marks."""

    def __init__(self, napari_viewer: "napari.viewer.Viewer") -> None:
        self.where = create_widget(annotation=Labels, label="Where (labels)")
        super().__init__(napari_viewer, [self.where])

    def work(self, layer: Image, job: Job) -> Callable[[], LayerData]:
        labels = self.where.value
        if labels is None:
            raise ValueError("there is no layer of labels. Add one and paint over what is to be filled in.")
        return lambda: fill_layer(layer, labels, job)
