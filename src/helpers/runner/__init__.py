"""Runner: the commands, the order of the steps, and the state of a run.

`cli` is what `helpers` calls, `pipeline` executes the notebooks, `status` knows why a step runs again.
"""

from helpers.runner.chain import prepare
from helpers.runner.checks import check_names, check_references
from helpers.runner.pipeline import run_chain
from helpers.runner.plan import plan_text
from helpers.runner.status import read_status

__all__ = ["check_names", "check_references", "plan_text", "prepare", "read_status", "run_chain"]
