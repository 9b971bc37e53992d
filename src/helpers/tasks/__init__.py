"""Tasks: a task's data, from mteb, from a folder of files, or from the demo.

mteb's own classes score them; `search` gives queries, targets and judgements to the chapters on geometry and tuning.
"""

from helpers.tasks.load import check_task, load_task, subset_data, task_class, task_names
from helpers.tasks.search import SearchSet, search_set

__all__ = ["SearchSet", "check_task", "load_task", "search_set", "subset_data", "task_class", "task_names"]
