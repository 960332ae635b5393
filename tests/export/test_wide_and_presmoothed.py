"""Files hold wide cells and presmoothed arguments as they hold everything else."""

import pytest
from test_export import SHAPES, TIME, assert_as_exact_as_python, picture, run_onnx

from whorl.export import exported_program, model_chain, onnx_model
from whorl.models import build

CASES = [
    ("perona-malik", {"cell": "wide"}),
    ("weickert-brox", {"cell": "wide", "sigma": 0.8, "diffusivity": "rational"}),
    ("eed", {"cell": "wide"}),
    ("gerig", {"sigma": 1.0}),
]


@pytest.mark.parametrize(("name", "options"), CASES, ids=str)
def test_files_compute_what_the_model_computes(name, options):
    model = build(name, contrast=15.0, **options)
    proto = onnx_model(model_chain(model, TIME))
    for shape in SHAPES:
        image = picture(shape)
        expected = model(image, TIME), model(image.double(), TIME)
        assert_as_exact_as_python(run_onnx(proto, image), *expected)
    image, time = picture((1, 1, 21, 16)), 2 * model.automatic_step()  # every step is traced again
    result = exported_program(model_chain(model, time), channels=1).module()(image)
    assert_as_exact_as_python(result, model(image, time), model(image.double(), time))
