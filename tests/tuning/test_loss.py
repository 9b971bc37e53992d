"""InfoNCE: the losses of sentence-transformers with in-batch negatives and masking as switches."""

from __future__ import annotations

import pandas as pd
import pytest
import torch
from tiny_encoders import tiny_encoder
from torch.nn.functional import cosine_similarity

from helpers.tuning.loss import CachedInfoNCE, InfoNCE, excluded
from helpers.tuning.trainer import to_dataset


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(tiny_encoder(tmp_path_factory.mktemp("tiny"))), device="cpu")
    return model.eval()  # no dropout: every way to compute the loss must give the same number


def batch(model):
    rows = pd.DataFrame(
        {
            "anchor": ["who bakes bread", "where is the lamp", "how old is the oak"],
            "positive": ["the baker bakes the bread", "on the table by the old window", "two hundred years"],
            "negative_1": ["two hundred years", "the baker bakes the bread", "it rains"],
            "negative_2": ["a short walk", "two hundred years", "on the table by the old window"],
        }
    )
    data = to_dataset(rows)
    features = [model.preprocess(data[c][:]) for c in rows.columns]
    return features, torch.tensor(data["label"][:])


def test_texts_are_numbered_by_identity(encoder):
    _, labels = batch(encoder)
    assert labels.tolist() == [[0, 1, 2], [3, 0, 1], [1, 4, 3]]


def test_candidates_of_a_row_by_hand():
    labels = torch.tensor([[0, 1], [2, 0]])  # columns: positives of both rows, then first negatives of both rows
    assert excluded(labels, in_batch=False, mask_false=False).tolist() == [[0, 1, 0, 1], [1, 0, 1, 0]]
    assert excluded(labels, in_batch=True, mask_false=False).tolist() == [[0, 0, 0, 0], [0, 0, 0, 0]]
    assert excluded(labels, in_batch=True, mask_false=True).tolist() == [[0, 0, 0, 1], [0, 0, 0, 0]]


def test_without_in_batch_negatives_a_row_sees_its_own_documents_only(encoder):
    features, labels = batch(encoder)
    with torch.no_grad():
        queries, *documents = [encoder(f)["sentence_embedding"] for f in features]
        logits = torch.stack([cosine_similarity(queries, d) for d in documents], dim=1) / 0.05
        by_hand = -logits.log_softmax(dim=1)[:, 0].mean()
        loss = InfoNCE(encoder, 0.05)(features, labels)
    assert loss.item() == pytest.approx(by_hand.item(), abs=1e-5)


def test_in_batch_negatives_are_the_stock_loss(encoder):
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss

    features, labels = batch(encoder)
    with torch.no_grad():
        stock = MultipleNegativesRankingLoss(encoder, scale=20.0)(features, labels)
        ours = InfoNCE(encoder, 0.05, in_batch=True)(features, labels)
        masked = InfoNCE(encoder, 0.05, in_batch=True, mask_false=True)(features, labels)
    assert ours.item() == pytest.approx(stock.item(), abs=1e-5)
    assert masked.item() < ours.item()  # texts equal to the positive no longer count against it


@pytest.mark.parametrize("in_batch", [False, True])
def test_distinct_texts_and_gradient_caching_give_the_same_gradient(encoder, in_batch):
    features, labels = batch(encoder)
    gradients = []
    for loss in (
        InfoNCE(encoder, 0.05, in_batch, True, deduplicate=False),
        InfoNCE(encoder, 0.05, in_batch, True),
        CachedInfoNCE(encoder, 0.05, in_batch, True, cached_batch=2),
    ):
        encoder.zero_grad()
        loss([dict(f) for f in features], labels).backward()
        gradients.append(torch.cat([p.grad.flatten() for p in encoder.parameters() if p.grad is not None]))
    assert torch.allclose(gradients[0], gradients[1], atol=1e-5)
    assert torch.allclose(gradients[0], gradients[2], atol=1e-5)


def test_left_padded_decoders_are_embedded_alike(tmp_path):
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(tiny_encoder(tmp_path, "qwen3")), device="cpu").eval()
    features, labels = batch(model)
    with torch.no_grad():
        merged = InfoNCE(model, 0.05)(features, labels)
        apart = InfoNCE(model, 0.05, deduplicate=False)(features, labels)
    assert merged.item() == pytest.approx(apart.item(), abs=1e-5)
