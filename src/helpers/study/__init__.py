"""Study: one validated file that says what is measured, and the folder that keeps what was.

`spec` and its neighbours are the keys of a study file; `load` reads it; `run` is the folder of a run.
"""

from helpers.study.load import load_study, study_names, study_path
from helpers.study.run import Run, run_folder
from helpers.study.spec import ModelSpec, Study, TaskSpec

__all__ = ["ModelSpec", "Run", "Study", "TaskSpec", "load_study", "run_folder", "study_names", "study_path"]
