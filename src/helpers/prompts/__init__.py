"""Prompts (chapter 01): which prompts, whether they are distinct and correct, and where they come from.

`table` gives the prompts of a study; `rules` and `checks` say what is wrong with one; `llm` has a model write them.
"""

from helpers.prompts.checks import decide, removal_report, review_path
from helpers.prompts.context import contexts_of
from helpers.prompts.files import read_prompts
from helpers.prompts.load import leak_texts, load_prompts
from helpers.prompts.origin import save_prompts
from helpers.prompts.prompt import Prompt, prompt_id
from helpers.prompts.review import write_review
from helpers.prompts.statistics import describe, overlap
from helpers.prompts.table import prompt_table, with_baselines

__all__ = [
    "Prompt", "contexts_of", "decide", "describe", "leak_texts", "load_prompts", "overlap", "prompt_id", "prompt_table",
    "read_prompts", "removal_report", "review_path", "save_prompts", "with_baselines", "write_review",
]  # fmt: skip
