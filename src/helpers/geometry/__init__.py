"""Geometry (chapter 05): what does an instruction do to a query, and does the model follow it?

`measures` are the formulas on vectors, `measurement` takes them for a study, `pools` holds the distractors.
"""

from helpers.geometry.measurement import measure
from helpers.geometry.measures import angulation, displacement, similarity_improvement
from helpers.geometry.relevance import correlation_table, quadrants, relevance_table, separability_table
from helpers.geometry.report import distractor_summary
from helpers.geometry.sets import instructed_sets
from helpers.geometry.study import map_study, measure_study

__all__ = [
    "angulation",
    "correlation_table",
    "displacement",
    "distractor_summary",
    "instructed_sets",
    "map_study",
    "measure",
    "measure_study",
    "quadrants",
    "relevance_table",
    "separability_table",
    "similarity_improvement",
]
