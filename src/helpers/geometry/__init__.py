"""Geometry (chapter 05): what does an instruction do to a query, and does the model follow it?

`measures` are formulas on vectors, `measurement` takes them for a set, `study` for all; `figures` shows, `words` says.
"""

from helpers.geometry.explorer import Explorer
from helpers.geometry.measurement import distractor_table, embedder, geometry_table, measure
from helpers.geometry.relevance import correlation_table, relevance_table, separability_table
from helpers.geometry.sets import instructed_sets
from helpers.geometry.study import joined, kept_queries, map_study, map_subject, measure_set, models_on_sets

__all__ = [
    "Explorer",
    "correlation_table",
    "distractor_table",
    "embedder",
    "geometry_table",
    "instructed_sets",
    "joined",
    "kept_queries",
    "map_study",
    "map_subject",
    "measure",
    "measure_set",
    "models_on_sets",
    "relevance_table",
    "separability_table",
]
