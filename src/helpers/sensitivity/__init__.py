"""Sensitivity (chapter 03): is the default prompt's score typical of what prompts give?

`defaults` places a default among the prompts, `spread` measures how far they lie apart, `figures` draws each figure.
"""

from helpers.sensitivity.agreement import agreement_table
from helpers.sensitivity.audit import audit_table, check_summary
from helpers.sensitivity.defaults import model_summary, sensitivity_table
from helpers.sensitivity.enough import error_curve, recommended
from helpers.sensitivity.noise import query_noise
from helpers.sensitivity.scope import comparability
from helpers.sensitivity.sets import compare_sets
from helpers.sensitivity.variance import variance_components
from helpers.sensitivity.wording import languages_of, trait_effects, traits

__all__ = [
    "agreement_table",
    "audit_table",
    "check_summary",
    "comparability",
    "compare_sets",
    "error_curve",
    "languages_of",
    "model_summary",
    "query_noise",
    "recommended",
    "sensitivity_table",
    "trait_effects",
    "traits",
    "variance_components",
]
