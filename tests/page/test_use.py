"""What a visitor does: open, drop, choose, turn, save; by mouse and by keyboard."""

import base64
import io
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import whorl
from whorl.automatic import automatic_settings, noise_level
from whorl.page import STATIC, copy_site, make_server


def png(image: np.ndarray) -> str:
    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, "PNG")
    return base64.b64encode(buffer.getvalue()).decode()


@pytest.fixture(scope="module")
def photo() -> np.ndarray:
    y, x = np.mgrid[:48, :64]
    disc = np.hypot(x - 30, y - 22) < 15
    colour = np.stack([200 * disc + 30, 60 + 2 * y, 220 - 150 * disc], axis=-1)
    return np.clip(colour + np.random.default_rng(5).normal(0, 12, (48, 64, 3)), 0, 255).astype(np.uint8)


def test_loads_by_itself_alone(drive: Any, address: str) -> None:
    result = drive("load", lenient=True)
    assert result["outside"] == "refused"  # by the page's own policy, before any network is asked
    assert all(url.startswith(address) for url in result["requests"])
    names = {url.rpartition("/")[2] for url in result["requests"]}
    assert "noise.js" in names  # the workers' requests are seen
    assert not names & {"traces.js", "measure.safetensors", "png.js", "tiff.js"}  # fetched when they are needed
    assert result["title"].startswith("whorl")


def test_works_in_a_subfolder_of_any_server(drive: Any, tmp_path: Path) -> None:
    copy_site(tmp_path / "deep" / "down")
    with make_server(0, tmp_path) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        place = f"http://127.0.0.1:{server.server_port}/deep/down/"
        facts = drive("load", address=place, lenient=True)["facts"]
        server.shutdown()
        thread.join()
    assert "256 × 256" in facts


@pytest.mark.parametrize("model", ["weickert-brox", "lysaker"])
def test_dropped_picture_gives_what_its_python_line_gives(drive: Any, photo: np.ndarray, model: str) -> None:
    result = drive("dropAndFilter", content=png(photo), model=model)
    size = (result["after"]["height"], result["after"]["width"], 3)
    assert np.array_equal(np.reshape(result["before"]["values"], size), photo)
    assert f'model="{model}"' in result["code"]
    expected = eval(result["code"], {"whorl": whorl, "image": photo.astype(np.float32)})
    # Both round float32 values that differ in the last bits; only ties may fall to either side.
    gap = np.abs(np.reshape(result["after"]["values"], size) - np.clip(expected, 0, 255))
    assert gap.max() <= 0.5 + 1e-2
    assert np.abs(expected - photo).max() > 5


@pytest.mark.parametrize(("model", "network"), [("network", "photo-colour"), ("small-network", "photo-8k")])
def test_network_denoises_a_dropped_picture(drive: Any, photo: np.ndarray, model: str, network: str) -> None:
    result = drive("dropAndDenoise", content=png(photo), model=model, level=17.5)
    samples = torch.from_numpy(photo.astype(np.float32)).permute(2, 0, 1)[None]
    assert result["measured"] == pytest.approx(noise_level([samples]), rel=6e-3)  # three digits stand in the field
    assert network in result["facts"]
    assert result["code"] == f'whorl.denoise(image, noise=17.5, network="{network}", channel_axis=-1)'
    expected = eval(result["code"], {"whorl": whorl, "image": photo})
    gap = np.abs(np.reshape(result["after"]["values"], photo.shape) - expected.astype(int))
    assert gap.max() <= 1  # both round, and ties may fall to either side
    assert gap.mean() < 1e-3
    assert np.abs(expected.astype(int) - photo).max() > 20
    assert all(error >= 0 for error in result["errors"])


def test_a_grey_picture_may_follow_a_colour_one_at_any_time(drive: Any, photo: np.ndarray) -> None:
    grey = np.random.default_rng(0).integers(90, 160, (260, 1030), np.uint8)  # takes a while to be measured
    seen = drive("colourThenGrey", colour=png(photo), grey=png(grey), lenient=True)
    assert not seen["failure"]
    assert "grey" in seen["facts"]


def test_tiny_pictures_are_pictures(drive: Any) -> None:
    pictures = {"1 × 1": np.full((1, 1), 200, np.uint8), "5 × 2": np.full((2, 5, 3), (9, 99, 199), np.uint8)}
    said = drive(
        "dropTiny", lenient=True, contents=[{"size": size, "content": png(image)} for size, image in pictures.items()]
    )
    for answer, image in zip(said, pictures.values(), strict=True):
        assert not answer["failure"]
        assert answer["errors"] == [0, 0]  # one colour everywhere turns into itself
        shown = np.reshape(answer["after"]["values"], (*image.shape[:2], 3))
        assert np.array_equal(shown, image if image.ndim == 3 else np.repeat(image[..., None], 3, axis=-1))


def test_what_is_no_picture_is_refused_in_words(drive: Any) -> None:
    result = drive("dropNotes")
    assert result["failure"] == "“notes.png” is not a picture this browser can read. Try PNG, TIFF, JPEG or WebP."
    assert "gerig" in result["code"]


def test_turning_by_keyboard_and_mouse(drive: Any) -> None:
    result = drive("turn")
    assert (result["keys"]["angle"], result["mouse"]["angle"], result["quarter"]["angle"]) == ("31", "45", "90")
    assert result["text"] == "90 degrees"
    for grid_turn in ("start", "quarter"):
        assert result[grid_turn]["errors"] == [0, 0]
    for true_turn in ("keys", "mouse"):
        coupled, uncoupled = result[true_turn]["errors"]
        assert 0 < coupled < uncoupled / 2, "the coupled filter turns with the picture, its uncoupled twin does not"


def test_curves_show_the_valley_of_the_uncoupled_filter(drive: Any) -> None:
    quality, error = drive("curves")

    def spread(line: str, name: str) -> float:
        low, high = line.split(f"{name} from ")[1].split(" dB")[0].split(" grey")[0].split(" to ")
        return float(high) - float(low)

    assert spread(quality, "The same, uncoupled") > 4 * spread(quality, "Edge-enhancing diffusion")
    assert spread(error, "The same, uncoupled") > 2 * spread(error, "Edge-enhancing diffusion")


def test_divider_difference_and_saved_picture(drive: Any) -> None:
    result = drive("compareAndSave")
    assert result["keys"] == 58
    assert result["mouse"] == pytest.approx(25, abs=0.5)
    assert result["shown"] == {"difference": True, "before": False}
    saved = Image.open(io.BytesIO(base64.b64decode(result["content"])))
    assert (result["name"], saved.size) == ("whorl.png", (256, 256))


def test_links_work_in_the_open_tab_and_back_undoes(drive: Any) -> None:
    seen = drive(
        "links", first="#scene=bars&model=eed&contrast=7&time=3", second="#scene=bars&mode=fill&method=homogeneous"
    )
    assert seen["opened"]["code"].startswith('whorl.diffuse(image, model="eed", contrast=7, time=3')
    assert 'model="homogeneous"' in seen["followed"]["code"]
    assert seen["followed"]["mode"] == "fill"
    assert seen["back"] == seen["opened"]
    assert "contrast=12" in seen["changed"]["code"]
    assert seen["undone"] == seen["opened"]
    assert seen["difference"]["show"] == "difference"
    assert "show=difference" in seen["difference"]["hash"]
    assert seen["skipped"] == [seen["difference"]["hash"], "stage"]


def test_drawn_pictures_say_how_much_noise_is_added_and_own_ones_how_much_was_found(
    drive: Any, photo: np.ndarray
) -> None:
    drawn, own, photons = drive("noises", content=png(photo))
    assert drawn == {"label": "Add noise", "slider": True, "measured": ""}
    level = noise_level([torch.from_numpy(photo.astype(np.float32)).permute(2, 0, 1)[None]])
    assert not own["slider"]
    assert own["measured"].startswith(f"Noise measured: {level:.3g} grey values")
    assert photons["dark"] < 0.7 * photons["bright"]


def test_mask_is_saved_and_loaded(drive: Any, photo: np.ndarray) -> None:
    mask = np.zeros(photo.shape[:2], np.uint8)
    mask[10:14, 20:50] = 255
    result = drive("masks", content=png(photo), mask=png(mask), wrong=png(mask[:-1]))
    saved = Image.open(io.BytesIO(base64.b64decode(result["saved"])))
    assert np.array_equal(np.asarray(saved), mask)
    assert f"{(mask > 0).sum()} pixels" in result["facts"]
    assert result["failure"] == "The mask has 64 × 47 pixels, the picture 64 × 48. Choose a mask of the same size."


def test_a_refused_clipboard_and_a_cancelled_computation_are_said(drive: Any) -> None:
    said = drive("refusedAndCancelled", lenient=True)
    assert "does not let the page write to the clipboard" in said["failure"]
    assert "Stopped" in said["facts"]
    assert not said["busy"]
    assert "Computed in" in said["after"]


def test_address_brings_back_what_was_shown(drive: Any) -> None:
    fragment = "#scene=bars&noise=12&model=weickert-brox&contrast=9&gamma=0.5&angle=-20&diffusivity=rational"
    result = drive("address", fragment=fragment)
    assert result["first"]["code"] == (
        'whorl.diffuse(image, model="weickert-brox", contrast=9, time=5, gamma=0.5, diffusivity="rational")'
    )
    assert result["first"]["noise"] == "12"
    assert "angle=-20" in result["first"]["hash"]
    assert "gamma=0.51" in result["changed"]
    assert 'model="ced"' in result["again"]


@pytest.mark.parametrize("model", ["weickert-brox", "eed", "lysaker"])
def test_own_picture_gets_the_settings_and_the_result_of_python_told_nothing(
    drive: Any, photo: np.ndarray, model: str
) -> None:
    result = drive("automatic", content=png(photo), model=model)
    u = torch.from_numpy(photo.astype(np.float32)).permute(2, 0, 1)[None]
    expected = automatic_settings(model, [u], engine="reference")
    chosen = {"contrast": expected.contrast, "time": expected.time, **expected.options}
    for key, value in chosen.items():
        if isinstance(value, str):
            assert f'{key}="{value}"' in result["code"]
        else:  # at least two digits stand in the fields
            assert result["first"][key] == pytest.approx(value, rel=2e-2)
            assert f"{key}=" in result["code"]
    expected_picture = whorl.diffuse(photo, model, channel_axis=-1, engine="reference")
    gap = np.abs(np.reshape(result["after"]["values"], photo.shape) - expected_picture.astype(int))
    assert gap.max() <= 1
    assert np.abs(expected_picture.astype(int) - photo).max() > 5
    assert (result["changed"]["contrast"], result["changed"]["time"]) == (150, 90)
    assert result["reset"] == result["first"]


def test_zoom_and_pan(drive: Any) -> None:
    seen = drive("zoom")
    assert seen["start"]["scale"] == seen["whole"]["scale"] == 1
    assert seen["buttons"]["scale"] == pytest.approx(2.25)
    assert seen["dragged"]["scale"] == pytest.approx(2.25)
    assert seen["dragged"]["left"] == pytest.approx(seen["buttons"]["left"] + 0.1, abs=0.01)
    assert seen["dragged"]["split"] == seen["start"]["split"], "a drag of an enlarged picture does not move the border"
    assert seen["wheel"]["scale"] == pytest.approx(np.e, rel=0.01)


def test_says_what_to_do_when_opened_as_a_file(drive: Any) -> None:
    said = drive("asFile", path=(STATIC / "index.html").as_uri(), lenient=True)
    assert "whorl page" in said


def test_picture_stays_in_view_on_a_phone(drive: Any) -> None:
    phone = {"viewport": {"width": 375, "height": 812}, "hasTouch": True, "isMobile": True}
    seen = drive("scrolled", options=phone)
    top, bottom = seen["frame"]
    assert 0 <= top < bottom < seen["slider"][0] < seen["slider"][1] <= seen["window"]


def test_painted_pixels_are_filled_in_and_no_others(drive: Any, photo: np.ndarray) -> None:
    result = drive("paintOver", content=png(photo), lenient=True)
    size = photo.shape
    before, filled, undone = (np.reshape(result[key]["values"], size) for key in ("untouched", "filled", "undone"))
    mask = np.reshape(result["mask"], size[:2])
    assert np.array_equal(before, photo)
    assert 60 < mask.sum() < 300
    assert np.array_equal(filled[~mask], photo[~mask])
    assert np.abs(filled[mask].astype(int) - photo[mask]).mean() > 3
    assert f"{mask.sum()} pixels" in result["facts"]
    assert result["keyed"] != result["facts"]
    assert np.array_equal(undone, photo)


def test_a_slow_model_shows_a_part_of_its_answer_while_a_slider_moves(drive: Any) -> None:
    result = drive("moveSlowly", lenient=True)  # Chromium remarks that the test reads the canvas several times
    before, draft, after = (np.reshape(result[key]["values"], (256, 256, 3)) for key in ("before", "draft", "after"))
    assert "Preview" in result["said"]
    changed = np.nonzero((draft != before).any(-1))
    part = tuple(slice(axis.min(), axis.max() + 1) for axis in changed)
    rest = np.ones((256, 256), bool)
    rest[part] = False
    assert 0 < rest.mean() < 1  # what lies outside still is the answer before
    assert (after[rest] != before[rest]).any()
    # In the part itself the draft is the answer, but for the neighbourhood of its border.
    middle = tuple(slice((axis.start + axis.stop) // 2 - 4, (axis.start + axis.stop) // 2 + 4) for axis in part)
    now, was = (float(np.abs(image[middle].astype(float) - after[middle]).mean()) for image in (draft, before))
    assert now < was / 2


def test_a_choice_does_not_wait_for_what_nobody_wants_any_more(drive: Any) -> None:
    result = drive("overtake", lenient=True)
    assert 'model="perona-malik"' in result["code"]
    assert "Computed in" in result["facts"]
    assert not result["failure"]
