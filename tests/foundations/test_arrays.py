"""Tensors of every type come back as they came: the type, the device, whole numbers rounded and within their range."""

import numpy as np
import pytest
import torch

import whorl
from whorl.foundations.arrays import _source, device_of, from_tensor, to_tensor
from whorl.foundations.samples import rounded

WHOLE = [torch.uint8, torch.int8, torch.int16, torch.uint16, torch.int32]


@pytest.mark.parametrize("dtype", WHOLE, ids=str)
def test_whole_numbers_are_rounded_and_clipped(dtype):
    limits = torch.iinfo(dtype)
    like = torch.zeros(2, 3, dtype=dtype)
    values = torch.tensor([[limits.min - 7.0, limits.max + 7.0, 2.5], [3.5, 2.51, 99.49]], dtype=torch.float64)
    result = from_tensor(values[None, None], like)
    assert result.dtype == dtype
    assert result.tolist() == [[limits.min, limits.max, 2], [4, 3, 99]]


@pytest.mark.parametrize("dtype", [*WHOLE, torch.float32, torch.float64], ids=str)
def test_tensors_are_taken_as_their_values(dtype):
    limits = (0, 100) if dtype.is_floating_point else (max(torch.iinfo(dtype).min, -1000), torch.iinfo(dtype).max)
    values = np.random.default_rng(0).integers(*limits, (4, 5, 3)) if limits else None
    image = torch.from_numpy(values).to(dtype)
    tensor = to_tensor(image, channel_axis=-1)
    assert tensor.dtype == (torch.float64 if dtype in (torch.int32, torch.float64) else torch.float32)
    np.testing.assert_array_equal(tensor[0].numpy(), values.transpose(2, 0, 1))
    assert torch.equal(from_tensor(tensor, image, channel_axis=-1), image)


def test_bytes_as_tensor_and_as_array_are_filtered_alike():
    """Bright and dark, so that a result that wraps around at 0 or 255 would be seen."""
    values = np.random.default_rng(0).choice([0, 1, 254, 255], (32, 33)).astype(np.uint8)
    settings = {"model": "perona-malik", "contrast": 300.0, "time": 2.0}
    array, tensor = whorl.diffuse(values, **settings), whorl.diffuse(torch.from_numpy(values), **settings)
    assert (tensor.dtype, array.dtype) == (torch.uint8, np.uint8)
    np.testing.assert_array_equal(tensor.numpy(), array)
    exact = whorl.diffuse(values.astype(np.float64), **settings)
    assert np.abs(array - exact).max() <= 0.5 + 1e-3


STORED = {
    "read only": lambda u: np.frombuffer(u.tobytes(), u.dtype).reshape(u.shape),
    "other byte order": lambda u: u.astype(u.dtype.newbyteorder()),
    "backwards": lambda u: u[::-1][::-1].copy()[::-1, ::-1][::-1, ::-1],
    "mirrored": lambda u: np.ascontiguousarray(u[:, ::-1])[:, ::-1],
    "not aligned": lambda u: np.frombuffer(b" " + u.tobytes(), np.uint8)[1:].copy().view(u.dtype).reshape(u.shape),
    "every second": lambda u: np.repeat(u, 2, 0)[::2],
    "turned": lambda u: np.ascontiguousarray(u.T).T,
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dtype", ["f4", "f8", "u1", "i2", "i8", "f2"])
@pytest.mark.parametrize("how", STORED.values(), ids=STORED)
def test_arrays_are_taken_however_they_are_stored(how, dtype):
    values = np.random.default_rng(0).integers(0, 100, (4, 5)).astype(dtype)
    tensor = to_tensor(how(values))
    assert tensor.is_contiguous()
    np.testing.assert_array_equal(tensor[0, 0].numpy(), values)


def test_axes_may_have_one_entry_but_not_none():
    assert to_tensor(np.zeros((1, 5), np.float32)).shape == (1, 1, 1, 5)
    with pytest.raises(ValueError, match="non-empty axes"):
        to_tensor(np.zeros((0, 5), np.float32))


def test_limits_of_32_bits_are_reached_from_single_precision():
    values = np.array([3e9, -3e9, 2.5], np.float32)
    assert rounded(values, np.dtype("i4")).tolist() == [2**31 - 1, -(2**31), 2]
    assert rounded(values, np.dtype("u4")).tolist() == [3_000_000_000, 0, 2]
    assert rounded(np.array([1e20, -1e20]), np.dtype("i8")).tolist() == [2**63 - 1024, -(2**63)]


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
def test_an_array_that_can_be_looked_at_in_place_is_not_copied(dtype):
    image = np.zeros((4, 5), dtype)
    assert _source(image, "test")[0].data_ptr() == image.ctypes.data
    locked = image.view()
    locked.flags.writeable = False
    assert _source(locked, "test")[0].data_ptr() != image.ctypes.data


def test_devices_that_are_not_there_are_refused(monkeypatch):
    own = torch.device("cpu")
    assert device_of(None, own) is own
    assert device_of("cpu", own) == own
    with pytest.raises(ValueError, match="device 'gpu' is unknown"):
        device_of("gpu", own)
    if not torch.cuda.is_available():
        with pytest.raises(ValueError, match="has no CUDA"):
            device_of("cuda", own)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with pytest.raises(ValueError, match="this machine has 2, counted from cuda:0"):
        device_of("cuda:2", own)
    assert device_of("cpu:2", own).index == 2  # processors are not counted


def test_devices_are_counted_from_zero(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    own = torch.device("cpu")
    for known in ("cuda", "cuda:0", "cuda:1"):
        assert device_of(known, own) == torch.device(known)
    with pytest.raises(ValueError, match="'cuda:2': this machine has 2, counted from cuda:0"):
        device_of("cuda:2", own)
