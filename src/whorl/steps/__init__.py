"""The description of a step, from which every engine, the export and the page work."""

from whorl.steps.form import BIHARMONIC, SHARED_EDGES, Cells, Form
from whorl.steps.gated import GatedForm, GatedNumbers, GatedStep
from whorl.steps.space_form import SpaceForm
from whorl.steps.step import STEPS, Described, Known, Numbers, Step

__all__ = [
    "BIHARMONIC",
    "SHARED_EDGES",
    "STEPS",
    "Cells",
    "Described",
    "Form",
    "GatedForm",
    "GatedNumbers",
    "GatedStep",
    "Known",
    "Numbers",
    "SpaceForm",
    "Step",
]
