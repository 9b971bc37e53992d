"""Models: load a model, put a literal prefix before a text, embed each text once.

`application` is the one place that turns a prompt into a prefix; `embed` leads through batches, reuse and the cache.
"""

from helpers.models.application import Prefixes, prefixes
from helpers.models.embed import embed_many
from helpers.models.load import LoadedModel, check_model, load_model, text_embedder

__all__ = ["LoadedModel", "Prefixes", "check_model", "embed_many", "load_model", "prefixes", "text_embedder"]
