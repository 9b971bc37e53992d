"""Comparison: the models of one or more finished studies side by side, from the tables that their runs left."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

from helpers.base.errors import StudyError
from helpers.base.files import project_root
from helpers.base.names import unknown
from helpers.base.phrases import count, is_lowest, listed, out_of, signed
from helpers.base.ties import levelled
from helpers.geometry.paper import distractor_summary
from helpers.geometry.pools import POOLS
from helpers.geometry.relevance import statistics_rows
from helpers.study.load import load_study
from helpers.study.run import run_folder, runs_folder
