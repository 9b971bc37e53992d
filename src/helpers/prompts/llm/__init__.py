"""A language model writes prompts and paraphrases: `open` connects to it, `ask` repeats until an answer is valid.

`generate` asks for prompts, `paraphrase` for other wordings of queries, `quality` checks those; `store` keeps each answer.
"""

from helpers.prompts.llm.open import open_backend
from helpers.prompts.llm.paraphrase import paraphrase_queries, write_paraphrases
from helpers.prompts.llm.quality import quality_table

__all__ = ["open_backend", "paraphrase_queries", "quality_table", "write_paraphrases"]
