"""Lengths in the units of files."""

from whorl.files.layout import METRES, in_one_unit, metres


def test_units_are_as_long_as_each_other():
    assert {metres(name) for name in ("cm", "centimeter", "Centimeter")} == {metres("m") / 100}
    assert abs(metres("inch") - 2.54 * metres("cm")) < 1e-15
    for name in ("mm", "millimeter"):
        assert metres(name) == 1e-3
    assert {METRES[name] for name in ("µm", "um", "micron", "micrometer")} == {1e-6}
    assert (metres("nm"), metres("Å"), metres("pm")) == (1e-9, 1e-10, 1e-12)


def test_sides_in_two_units_are_compared():
    depth, side = in_one_unit((1.0, 25.4), ("inch", "mm"))
    assert abs(depth - side) < 1e-9 * side
