"""The page's networks on a graphics card without a browser: its WGSL shaders, carried out by wgpu-native.

``node web/record.mjs runs/page`` writes down what the page tells a card; then ``PYTHONPATH=src python -m
benchmarks.gpu.page`` does it (``pip install wgpu``), compares the result with the WebAssembly kernel's, and measures
the time from the first dispatch until the picture is back. WHORL_PAGE_RECORDS names another folder. What a browser
adds, the way of its commands to the card and copies of the picture, is not measured here. Drivers keep what they have
compiled before, so the time for that says little.
"""

import base64
import functools
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.gpu.report import Rows, measured

RECORDS = Path(os.environ.get("WHORL_PAGE_RECORDS", "runs/page"))
NAMES = ("photo-8k-100", "photo-8k-512", "photo-grey-512", "photo-colour-512")
REPEATS = 30


@functools.cache
def _device() -> Any:
    import wgpu

    adapter = wgpu.gpu.request_adapter_sync(power_preference="high-performance")
    return adapter, adapter.request_device_sync()


def _numbers(text: str) -> NDArray[np.float32]:
    return np.frombuffer(base64.b64decode(text), np.float32)


class Replay:
    """A record on a device: buffers filled, shaders compiled, everything bound."""

    def __init__(self, device: Any, record: dict[str, Any]) -> None:
        from wgpu import BufferUsage

        usage = BufferUsage.STORAGE | BufferUsage.UNIFORM | BufferUsage.COPY_DST | BufferUsage.COPY_SRC
        self.device = device
        self.buffers = [device.create_buffer(size=size, usage=usage) for size in record["buffers"]]
        for number, text in record["writes"]:
            device.queue.write_buffer(self.buffers[number], 0, base64.b64decode(text))
        begin = time.perf_counter()
        self.shaders = [self._compiled(code) for code in record["shaders"]]
        self.compile_s = time.perf_counter() - begin
        self.bound = [self._bound(**dispatch) for dispatch in record["dispatches"]]
        self.result = self.buffers[record["result"]]

    def _compiled(self, code: str) -> Any:
        module = self.device.create_shader_module(code=code)
        return self.device.create_compute_pipeline(layout="auto", compute={"module": module, "entry_point": "main"})

    def _bound(self, shader: int, bound: list[list[int]], groups: list[int]) -> tuple[Any, Any, list[int]]:
        pipeline = self.shaders[shader]
        entries = [
            {"binding": k, "resource": {"buffer": self.buffers[number], "offset": offset, "size": size}}
            for k, (number, offset, size) in enumerate(bound)
        ]
        group = self.device.create_bind_group(layout=pipeline.get_bind_group_layout(0), entries=entries)
        return pipeline, group, groups

    def __call__(self) -> NDArray[np.float32]:
        encoder = self.device.create_command_encoder()
        work = encoder.begin_compute_pass()
        for pipeline, group, groups in self.bound:
            work.set_pipeline(pipeline)
            work.set_bind_group(0, group)
            work.dispatch_workgroups(*groups)
        work.end()
        self.device.queue.submit([encoder.finish()])
        return np.frombuffer(self.device.queue.read_buffer(self.result), np.float32)


def one(name: str) -> Rows:
    import wgpu

    adapter, device = _device()
    record = json.loads((RECORDS / f"{name}.json").read_text())
    replay, expected = Replay(device, record), _numbers(record["expected"])
    gap = max(255 * float(np.abs(replay() - expected).max()) for _ in range(3))
    times = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        replay()
        times.append(time.perf_counter() - begin)
    print(
        f"   {name}: {1e3 * min(times):.2f} ms, compiled in {replay.compile_s:.2f} s, {gap:.1e} grey values", flush=True
    )
    row = {"method": record["name"], "best_s": min(times), "median_s": float(np.median(times)), "gap": gap}
    place = f"{adapter.info['device']}, {adapter.info['backend_type']}, wgpu {wgpu.__version__}"
    note = f"{record['side']}x{record['side']}, {place}"
    return [{**row, "compile_s": replay.compile_s, "dispatches": len(record["dispatches"]), "note": note}]


if __name__ == "__main__":
    measured(
        "gpu_page", "python -m benchmarks.gpu.page", __doc__, {name: functools.partial(one, name) for name in NAMES}
    )
