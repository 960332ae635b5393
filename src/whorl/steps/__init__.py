"""The description of a step, from which every engine, the export and the page work."""

from whorl.steps.form import Form
from whorl.steps.gated import GatedForm, GatedNumbers, GatedStep
from whorl.steps.step import STEPS, Described, Numbers, Step

__all__ = ["STEPS", "Described", "Form", "GatedForm", "GatedNumbers", "GatedStep", "Numbers", "Step"]
