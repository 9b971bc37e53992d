"""Functions from texts to vectors as models: exact, identified by version and vectors, refused where wrong."""

import numpy as np
import pytest

from helpers.base.errors import StudyError
from helpers.models.function import embedder, function_model
from helpers.models.given import given_model, given_object
from helpers.models.load import load_model


def lengths(texts: list[str]) -> np.ndarray:
    """A text as (its length, its capitals, 1)."""
    return np.array([[len(t), sum(map(str.isupper, t)), 1] for t in texts], dtype=np.float32)


def loaded(label: str, given):
    return load_model(given_model(label, given))


def test_the_function_receives_the_prompt_as_the_beginning_of_the_text():
    vectors = loaded("f", embedder(lengths, "1")).embed(["a", "bcd"], prefix="Q: ", normalize=False)
    assert vectors.tolist() == [[4, 1, 1], [6, 1, 1]]


def test_each_text_is_asked_for_once():
    asked: list[str] = []

    def spy(texts):
        asked.extend(texts)
        return lengths(texts)

    model = loaded("spy", embedder(spy, "1"))
    asked.clear()
    model.embed(["a", "b", "a"] * 50)
    assert sorted(asked.count(t) for t in {"a", "b"}) == [1, 1]


def test_identity_follows_the_version_and_the_vectors():
    one, same, later = (loaded("f", embedder(lengths, v)).key for v in ("1", "1", "2"))
    other = loaded("f", embedder(lambda texts: 2 * lengths(texts), "1")).key
    assert one == same and len({one, later, other}) == 3


def test_noise_at_a_rounding_edge_leaves_the_identity_in_a_run(tmp_path):
    def moved(by):
        return embedder(lambda texts: lengths(texts) + np.float32(0.0005 + by), "1")

    keys = [load_model(given_model("f", moved(by)), tmp_path).key for by in (-1e-5, 1e-5, -1e-5, 0.1)]
    assert keys[0] == keys[1] == keys[2] != keys[3]
    assert load_model(given_model("f", moved(-1e-5))).key != load_model(given_model("f", moved(1e-5))).key  # elsewhere


def test_without_a_version_nothing_is_the_same_and_nothing_is_cached(tmp_path):
    first, second = (load_model(given_model("f", lengths), tmp_path) for _ in range(2))
    assert first.key != second.key and first.cache is None
    assert load_model(given_model("f", embedder(lengths, "1")), tmp_path).cache is not None


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda texts: np.zeros(3), r"shape \(3,\) for 3 texts"),
        (lambda texts: np.zeros((2, 4)), r"shape \(2, 4\) for 3 texts; \(3, 4\) is needed"),
        (lambda texts: "vectors", "returned str, which is no array"),
        (lambda texts: 1 / 0, "fails on three short texts.*division by zero"),
    ],
)
def test_a_function_that_gives_no_row_per_text_is_refused(function, said):
    with pytest.raises(StudyError, match=f"model f: .*{said}"):
        function_model("f", function)


@pytest.mark.parametrize(
    ("given", "said"),
    [(5, "int cannot be swept"), (dict, "type cannot be swept"), ("no-such-model", "unknown model 'no-such-model'"),
     ({"nam": "x"}, "unknown key 'nam'; did you mean name"), ("path:", "names no folder")],
)  # fmt: skip
def test_what_is_no_model_is_refused_in_one_line(given, said):
    with pytest.raises(StudyError, match=f"model m.*{said}|{said}") as error:
        loaded("m", given)
    assert len(str(error.value).splitlines()) == 1


def test_an_object_of_another_process_is_named():
    with pytest.raises(StudyError, match=r"given as an object to run_sweep in another process.*path:<folder>"):
        given_object("never given")
