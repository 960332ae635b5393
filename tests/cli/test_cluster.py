"""Many machines: a real cluster with a killed worker, stores behind addresses, and dask arrays that stay lazy."""

import json
import os
import signal
import subprocess
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
import zarr

import whorl
from whorl import large, models
from whorl.errors import FileError, ShapeError
from whorl.large.cluster import filter_store
from whorl.large.plan import How

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")
yaml = pytest.importorskip("yaml")

DOCS = Path(__file__).parents[2] / "docs"


def samples(shape: tuple[int, ...] = (90, 80), seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 60000, shape, np.uint16)


@pytest.fixture(scope="module")
def cluster():
    """A scheduler and two workers, each in a process of its own, which comes again when it is killed."""
    how = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(Path(whorl.__file__).parents[1]), str(Path(__file__).parent)]))
        with distributed.LocalCluster(**how) as found:
            yield found


def an_array(path: Path, data: np.ndarray, chunks: tuple[int, ...], names: str) -> None:
    zarr.create_array(str(path), data=data, chunks=chunks, dimension_names=tuple(names), attributes={"from": "us"})


def on_the_command_line(whorl_command, *words):
    answer = whorl_command(*words, "--json")
    assert answer.code == 0, answer.err
    return json.loads(answer.out)["files"][0]


def test_the_command_filters_on_a_cluster(cluster, tmp_path, whorl_command):
    """Settings measured on the workers are those of one machine, and so is every bit."""
    rng = np.random.default_rng(1)
    picture = np.clip(20000 + 9000 * (np.indices((90, 60)).sum(0) // 40 % 2) + rng.normal(0, 900, (90, 60)), 0, 65535)
    an_array(tmp_path / "in.zarr", picture.astype(np.uint16), (32, 32), "yx")
    own = ("filter", "--model", "gerig", "--tile", "32")
    apart = on_the_command_line(
        whorl_command, *own, "--cluster", cluster.scheduler_address, tmp_path / "in.zarr", tmp_path / "out.zarr"
    )
    alone = on_the_command_line(whorl_command, *own, tmp_path / "in.zarr", tmp_path / "alone.zarr")
    for name in ("contrast", "time", "noise", "windows", "passes"):
        assert apart["pages"][0][name] == alone["pages"][0][name]
    assert apart["pages"][0]["windows"] == 6
    result = zarr.open_array(tmp_path / "out.zarr", mode="r")
    np.testing.assert_array_equal(result[...], zarr.open_array(tmp_path / "alone.zarr", mode="r")[...])
    assert (result.chunks, dict(result.attrs)) == ((32, 32), {"from": "us"})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["alone.zarr", "in.zarr", "out.zarr"]


def test_the_command_denoises_on_a_cluster(cluster, tmp_path, whorl_command):
    noisy = np.clip(np.random.default_rng(0).normal(120, 20, (2, 70, 75, 4)), 0, 255).astype(np.uint8)
    an_array(tmp_path / "in.zarr", noisy, (2, 64, 64, 4), "tyxc")  # a chunk holds both pages, the last channel is alpha
    own = ("denoise", "--noise", "20", "--tile", "64", tmp_path / "in.zarr")
    apart = on_the_command_line(whorl_command, *own, tmp_path / "out.zarr", "--cluster", cluster.scheduler_address)
    on_the_command_line(whorl_command, *own, tmp_path / "alone.zarr")
    assert [page["windows"] for page in apart["pages"]] == [4, 4]
    result = zarr.open_array(tmp_path / "out.zarr", mode="r")[...]
    np.testing.assert_array_equal(result, zarr.open_array(tmp_path / "alone.zarr", mode="r")[...])
    np.testing.assert_array_equal(result[..., 3], noisy[..., 3])


def _stages(time: float, found) -> list:
    """Sent to the workers, as the command's choice is."""
    model = models.build("perona-malik", contrast=3000.0)
    return [(large.stages(model, time, dimension=3), {})]


class Told:
    """Counts the windows that are done, and does something after some of them."""

    def __init__(self, after: int, act) -> None:
        self.after, self.act, self.calls = after, act, 0

    def __call__(self, share: float) -> None:
        self.calls += share > 0
        if self.calls == self.after:
            self.act()


def stopping() -> None:
    raise KeyboardInterrupt


def test_a_killed_worker_is_made_up_for(cluster, tmp_path):
    volume = samples((40, 36, 33))
    an_array(tmp_path / "v.zarr", volume, (8, 36, 33), "zyx")
    with distributed.Client(cluster, set_as_default=False) as client:
        before = {worker["id"]: client.run(os.getpid, workers=[at])[at] for at, worker in _workers(client).items()}
        kill = partial(os.kill, next(iter(before.values())), signal.SIGKILL)
        told = Told(2, kill)
        _, plans, *_ = filter_store(
            tmp_path / "v.zarr", tmp_path / "w.zarr", partial(_stages, 3.0), How(tile=8, advance=told),
            cluster=cluster.scheduler_address, volume=False,
        )  # fmt: skip
        assert len(plans[0].passes) > 1
        client.wait_for_workers(2, timeout=60)  # the nanny brings another one
        assert {*client.run(os.getpid).values()} != {*before.values()}
    expected = whorl.diffuse(volume, models.build("perona-malik", contrast=3000.0), time=3.0)
    np.testing.assert_array_equal(zarr.open_array(tmp_path / "w.zarr", mode="r")[...], expected)


def _workers(client) -> dict:
    return client.scheduler_info(n_workers=-1)["workers"]


@pytest.mark.parametrize("store", ["folder", "memory"])
def test_a_stopped_run_goes_on_by_chunk(tmp_path, store):
    """The windows that were done are not done again; other settings begin anew. Folders and addresses alike."""
    volume = samples((24, 20, 21))
    an_array(tmp_path / "v.zarr", volume, (8, 20, 21), "zyx")
    target = tmp_path / "w.zarr" if store == "folder" else Path(f"memory://{tmp_path.name}/w.zarr")
    run, how = partial(filter_store, tmp_path / "v.zarr", target, volume=False), partial(How, tile=8)
    with pytest.raises(KeyboardInterrupt):
        run(partial(_stages, 0.2), how(advance=Told(2, stopping)))
    told = Told(0, None)
    *_, resumed = run(partial(_stages, 0.2), how(advance=told))
    assert resumed
    assert told.calls == 1 + 1  # the share that was done before, and the window that was left

    def the_result() -> np.ndarray:
        return zarr.open_array(str(target) if store == "folder" else f"memory://{tmp_path.name}/w.zarr", mode="r")[...]

    def expected(time: float) -> np.ndarray:
        return whorl.diffuse(volume, models.build("perona-malik", contrast=3000.0), time=time)

    np.testing.assert_array_equal(the_result(), expected(0.2))
    with pytest.raises(FileError, match="exists already"):
        run(partial(_stages, 0.2), how(advance=told))
    with pytest.raises(KeyboardInterrupt):
        run(partial(_stages, 0.2), how(advance=Told(2, stopping), force=True))
    *_, resumed = run(partial(_stages, 0.1), how(advance=told, force=True))
    assert not resumed
    np.testing.assert_array_equal(the_result(), expected(0.1))


def test_a_store_behind_a_server_is_read(tmp_path, whorl_command):
    pytest.importorskip("aiohttp")
    data = samples()
    an_array(tmp_path / "in.zarr", data, (32, 32), "yx")
    quiet = type("Quiet", (SimpleHTTPRequestHandler,), {"log_message": lambda *said: None})
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(quiet, directory=str(tmp_path)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        url = f"http://127.0.0.1:{server.server_port}/in.zarr"
        words = ("filter", "--contrast", "3000", "--time", "1", "--model", "gerig", "--tile", "32")
        record = on_the_command_line(whorl_command, *words, url, tmp_path / "out.zarr")
        missing = whorl_command(*words, url.replace("in.zarr", "no.zarr"), tmp_path / "no.zarr")
    finally:
        server.shutdown()
        server.server_close()
    assert record["input"] == url
    expected = whorl.diffuse(data, "gerig", contrast=3000.0, time=1.0)
    np.testing.assert_array_equal(zarr.open_array(tmp_path / "out.zarr", mode="r")[...], expected)
    assert missing.code
    assert not (tmp_path / "no.zarr").exists()


def test_a_store_in_a_bucket_is_read_and_written(tmp_path, whorl_command, monkeypatch):
    """The protocol of Amazon's S3, spoken with a server on this machine."""
    s3fs, moto = pytest.importorskip("s3fs"), pytest.importorskip("moto.server")
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    told = {"ACCESS_KEY_ID": "us", "SECRET_ACCESS_KEY": "us", "DEFAULT_REGION": "us-east-1"}
    for name, value in (told | {"ENDPOINT_URL": f"http://{host}:{port}"}).items():
        monkeypatch.setenv(f"AWS_{name}", value)
    try:
        s3fs.S3FileSystem().mkdir("bucket")
        data = samples()
        an_array("s3://bucket/in.zarr", data, (32, 32), "yx")
        words = ("filter", "--contrast", "3000", "--time", "1", "--model", "gerig", "--tile", "32")
        record = on_the_command_line(whorl_command, *words, "s3://bucket/in.zarr", "s3://bucket/out.zarr")
        result = zarr.open_array("s3://bucket/out.zarr", mode="r")[...]
    finally:
        server.stop()
    assert record["output"] == "s3://bucket/out.zarr"
    np.testing.assert_array_equal(result, whorl.diffuse(data, "gerig", contrast=3000.0, time=1.0))


def test_what_cannot_be_sent_to_a_cluster_is_told(tmp_path, whorl_command, monkeypatch):
    monkeypatch.setattr("whorl.large.cluster.WAIT", 0.5)
    an_array(tmp_path / "in.zarr", samples(), (32, 32), "yx")
    (tmp_path / "in.tif").write_bytes(b"II*\0")
    for paths, sentence in [
        (("in.tif", "out.zarr"), "only zarr has"),
        (("in.zarr", "out.tif"), "only zarr has"),
        (("in.zarr", "in.zarr", "out"), "one zarr array in and one out"),
        (("in.zarr", "out.zarr"), "no scheduler answers there"),
    ]:
        words = [tmp_path / name for name in paths]
        answer = whorl_command("filter", "-c", "9", "--cluster", "tcp://127.0.0.1:9", *words)
        assert answer.code == 2
        assert sentence in answer.err


def test_dask_arrays_stay_lazy():
    data = samples((70, 60))
    lazy = da.from_array(data, chunks=(32, 30))
    result = whorl.diffuse(lazy, "gerig", contrast=3000.0, time=1.5)
    assert isinstance(result, da.Array)
    np.testing.assert_array_equal(result.compute(), whorl.diffuse(data, "gerig", contrast=3000.0, time=1.5))
    byte = (data // 256).astype(np.uint8)
    clean = whorl.denoise(da.from_array(byte, chunks=(32, 30)), 20.0)
    assert isinstance(clean, da.Array)
    np.testing.assert_array_equal(clean.compute(scheduler="synchronous"), whorl.denoise(byte, 20.0))
    with pytest.raises(ShapeError, match=r"page_axis is for whole ones. Give image.compute\(\)"):
        whorl.diffuse(da.from_array(np.zeros((2, 9, 9))), page_axis=0)


def test_samples_of_a_dask_array_are_read_in_one_pass():
    noisy = (100 + 9 * np.random.default_rng(0).normal(size=(96, 90))).astype(np.float32)
    reads = []

    def read(block: np.ndarray) -> np.ndarray:
        reads.append(block.shape)
        return block

    lazy = da.from_array(noisy, chunks=(48, 45)).map_blocks(read, dtype=noisy.dtype, meta=noisy[:0, :0])
    result = whorl.diffuse(lazy, "gerig")
    assert len(reads) == 4  # every chunk once
    np.testing.assert_array_equal(result.compute(), whorl.diffuse(noisy, "gerig"))


def the_examples(kind: str) -> list[str]:
    """The blocks of code of that kind on the page about clusters."""
    found, lines = [], (DOCS / "cluster.rst").read_text().splitlines()
    for number, line in enumerate(lines):
        if line.strip() == f".. code-block:: {kind}":
            block = []
            for inner in lines[number + 1 :]:
                if inner and not inner.startswith("   "):
                    break
                block.append(inner[3:])
            found.append("\n".join(block))
    return found


def test_the_examples_for_slurm_and_kubernetes_are_well_formed():
    (script,) = the_examples("bash")
    assert "#SBATCH" in script
    assert "whorl filter" in script
    subprocess.run(["bash", "-n"], input=script, text=True, check=True)
    (text,) = the_examples("yaml")
    parts = list(yaml.safe_load_all(text))
    assert {part["kind"] for part in parts} == {"Deployment", "Service", "Job"}
    names = {part["metadata"]["name"] for part in parts}
    assert "whorl-scheduler" in names
    for part in parts:
        if part["kind"] != "Service":
            (container,) = part["spec"]["template"]["spec"]["containers"]
            assert {"name", "image", "args"} <= {*container}
