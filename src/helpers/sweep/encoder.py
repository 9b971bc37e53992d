"""The sweep's encoder: what mteb sees in place of the model, so that mteb scores and we decide what is embedded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from helpers.base.errors import StudyError
from helpers.models.application import Prefixes
from helpers.models.cache import Request, texts_digest
from helpers.models.embed import embed_in_stock_batches, embed_many, stock_vectors
from helpers.models.load import LoadedModel
from helpers.models.role import Role
from helpers.sweep.mteb_patches import batch_texts, retrieval_texts

DOCUMENT_BLOCK = 50_000
QUERY_BLOCK = 256

# A pass that is killed is lost: some 100 s of a small model on two cores.
ROWS_AHEAD = {"cpu": 20_000, "other": 200_000}


class SweepEncoder:
    """An mteb EncoderProtocol and SearchProtocol around one model, for one task and many prompts.

    `prefixes` must be set before each evaluation; nothing is resolved by name. Vectors are looked up by the literal
    prefix and the texts, so documents are embedded once for all prompts; `prefetch` embeds the remaining prompts'
    texts of a finished evaluation in one pass. With `exact` stock mteb's own batches are kept and nothing is shared;
    with `stock_batches` they are kept for texts without sides, so that a baseline scores as in stock mteb.
    """

    def __init__(self, model: LoadedModel, exact: bool = False, bitext_side: str = "query") -> None:
        self.model = model
        self.exact = exact
        self.bitext_side = bitext_side
        self.prefixes: Prefixes | None = None
        self.stock_batches = False
        self.searched_with: list[str] | None = None  # bitext mining: the texts of the side that is searched with
        self.block: int | None = None  # lists are embedded in blocks, so that a longer one finds what a shorter one had
        self.calls: list[tuple[str, list[str]]] = []
        self.counts: dict[tuple[str, Role], np.ndarray] = {}  # tokens of texts without a prefix
        self.described: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
        self.mteb_model_meta = model.wrapper.mteb_model_meta
        self.results: dict[str, dict[str, float]] = {}
        self._store: dict[tuple[str, str, Role], np.ndarray] = {}
        self._corpus: tuple[Any, list[str], list[str]] | None = None
        self._keys: dict[int, tuple[Sequence[str], str]] = {}

    # -- what mteb calls ------------------------------------------------------------------------------------------

    def encode(
        self, inputs: Any, *, task_metadata: Any, hf_split: str, hf_subset: str, prompt_type: Any = None, **kwargs: Any
    ) -> np.ndarray:
        texts = batch_texts(inputs)
        role: Role = prompt_type.value if prompt_type is not None else None
        return self.vectors(self._side(task_metadata, role, texts), texts)

    def index(self, corpus: Any, *, task_metadata: Any, **kwargs: Any) -> None:
        """Keep the corpus; its texts and ids, the same for all prompts, are read once (mteb: at each evaluation)."""
        if self._corpus is None or self._corpus[0] is not corpus:
            self._corpus = corpus, retrieval_texts(corpus, "document"), list(corpus["id"][:])

    def search(
        self, queries: Any, *, task_metadata: Any, top_k: int, top_ranked: Any = None, **kwargs: Any
    ) -> dict[str, dict[str, float]]:
        """The top_k most similar documents per query, with mteb's similarity for this model, in blocks."""
        if self._corpus is None:
            raise StudyError("the corpus must be indexed before it is searched")
        if top_ranked is not None:
            return self._rerank(queries, task_metadata=task_metadata, top_k=top_k, top_ranked=top_ranked, **kwargs)
        _, texts, ids = self._corpus
        question = self.vectors("query", retrieval_texts(queries, "query"))
        documents = self.vectors("document", texts)
        best, places = self._top(question, documents, min(top_k, len(ids)))
        self.results = {
            str(query): dict(zip((ids[p] for p in row), scores, strict=True))
            for query, row, scores in zip(queries["id"][:], places.tolist(), best.tolist(), strict=True)
        }
        return self.results

    def similarity(self, embeddings1: Any, embeddings2: Any) -> Any:
        return self.model.wrapper.similarity(_tensor(embeddings1), _tensor(embeddings2))

    def similarity_pairwise(self, embeddings1: Any, embeddings2: Any) -> Any:
        return self.model.wrapper.similarity_pairwise(_tensor(embeddings1), _tensor(embeddings2))

    # -- what the sweep calls -------------------------------------------------------------------------------------

    def vectors(self, side: str, texts: list[str]) -> np.ndarray:
        """Vectors of texts on a side: `query`, `document`, `both` (no sides) or `plain` (carries no prompt)."""
        self.calls.append((side, texts))
        prefix, role = self._prefix(side)
        if self.exact:
            return stock_vectors(self.model.st, texts, prefix, role)
        stock = self.stock_batches and role is None
        key = (self.key_of(texts), ("stock " if stock else "") + prefix, role)
        if key not in self._store:
            if stock:
                self._store[key] = embed_in_stock_batches(self.model, (texts, prefix, role))
            else:
                self._store[key] = self._embed([(texts, prefix, role)])[0]
        return self._store[key]

    def key_of(self, texts: Sequence[str]) -> str:
        """Digest of a list of texts, computed once per list object."""
        if id(texts) not in self._keys:
            self._keys[id(texts)] = texts, texts_digest(texts)
        return self._keys[id(texts)][1]

    def prefetch(self, upcoming: Sequence[Prefixes]) -> None:
        """Embed what the recorded calls will ask for under other prefixes, all together."""
        if self.exact:
            return
        current, wanted = self.prefixes, {}
        for self.prefixes in upcoming:
            for side, texts in self.calls:
                prefix, role = self._prefix(side)
                key = (self.key_of(texts), prefix, role)
                if key not in self._store:
                    wanted[key] = (texts, prefix, role)
        self.prefixes = current
        for key, vectors in zip(wanted, self._embed(list(wanted.values())), strict=True):
            self._store[key] = vectors

    def _embed(self, requests: list[Request]) -> list[np.ndarray]:
        """`embed_many`, texts that carry a prompt in blocks: what a part of the items needed is on the disk for more."""
        blocks = [self._blocks(request) for request in requests]
        vectors = iter(embed_many(self.model, [block for some in blocks for block in some]))
        found = [[next(vectors) for _ in some] for some in blocks]
        return [some[0] if len(some) == 1 else np.concatenate(some) for some in found]

    def _blocks(self, request: Request) -> list[Request]:
        texts, prefix, role = request
        if self.block is None or role == "document" or len(texts) <= self.block:
            return [request]
        return [(texts[k : k + self.block], prefix, role) for k in range(0, len(texts), self.block)]

    def prompts_ahead(self) -> int:
        """How many prompts' texts may be embedded together, so that a pass has at most `ROWS_AHEAD` texts."""
        rows = sum(len(texts) for side, texts in self.calls if side != "document")
        most = ROWS_AHEAD["cpu" if self.model.st.device.type == "cpu" else "other"]
        return max(1, most // max(rows, 1))

    def forget(self) -> None:
        """Drop the vectors that only the last prompts used; documents stay."""
        self._store = {key: v for key, v in self._store.items() if key[2] == "document"}
        kept = {id(texts) for _, texts in self.calls}
        self._keys = {n: known for n, known in self._keys.items() if n in kept}
        self.described = {key: d for key, d in self.described.items() if key[0] in ("document", "plain")}

    def _side(self, task_metadata: Any, role: Role, texts: Sequence[str]) -> str:
        if role is not None:
            return role
        if task_metadata.type == "BitextMining" and self.bitext_side == "query" and self.searched_with is not None:
            default = self.prefixes is not None and self.prefixes.application == "default"
            return "both" if default or list(texts) == self.searched_with else "plain"
        return "both"

    def _prefix(self, side: str) -> tuple[str, Role]:
        if self.prefixes is None:
            raise StudyError("no prefix is set for this evaluation")
        if side == "query":
            return self.prefixes.query, "query"
        if side == "document":
            return self.prefixes.document, "document"
        return ("" if side == "plain" else self.prefixes.both), None

    def _top(self, queries: np.ndarray, documents: np.ndarray, top_k: int) -> tuple[np.ndarray, np.ndarray]:
        """Scores and positions of the best documents per query; memory is bounded by a block of each side."""
        import torch

        parts = range(0, len(queries), QUERY_BLOCK)
        best: dict[int, tuple[Any, Any]] = {}
        for first in range(0, len(documents), DOCUMENT_BLOCK):
            block = _tensor(documents[first : first + DOCUMENT_BLOCK])
            for start in parts:
                similar = torch.as_tensor(self.similarity(queries[start : start + QUERY_BLOCK], block))
                value, place = similar.topk(min(top_k, similar.shape[1]), dim=1)
                place = place + first
                if start in best:
                    value, place = (torch.cat([best[start][0], value], 1), torch.cat([best[start][1], place], 1))
                    value, order = value.topk(min(top_k, value.shape[1]), dim=1)
                    place = place.gather(1, order)
                best[start] = value, place
        if not best:
            return np.zeros((len(queries), 0)), np.zeros((len(queries), 0), int)
        scores = torch.cat([best[start][0] for start in parts])
        places = torch.cat([best[start][1] for start in parts])
        return scores.cpu().numpy(), places.cpu().numpy()

    def _rerank(self, queries: Any, **kwargs: Any) -> dict[str, dict[str, float]]:
        """Reranking through stock mteb's own wrapper, which sees only `encode` and `similarity` of this object."""
        from mteb.models.search_wrappers import SearchEncoderWrapper

        wrapper = SearchEncoderWrapper(self)
        names = ("task_metadata", "hf_split", "hf_subset", "encode_kwargs")
        wrapper.index(self._corpus[0] if self._corpus else None, **{name: kwargs[name] for name in names})
        self.results = dict(wrapper.search(queries, **kwargs))
        return self.results


def _tensor(embeddings: Any) -> Any:
    import torch

    if isinstance(embeddings, np.ndarray):
        return torch.from_numpy(np.array(embeddings))  # memory-mapped rows are read-only; torch wants its own copy
    return embeddings
