"""A language model writes prompts and paraphrases: `open` connects to it, `ask` repeats until an answer is valid.

`generate` asks for prompts, `paraphrase` for other wordings of queries, `quality` checks those; `store` keeps each answer.
"""
