"""One test per trap of mteb that this design could fall into. Each fails on the naive way, which it shows first.

Tested elsewhere: prompts that share a result folder (`test_prompts_that_mteb_would_put_into_one_folder_stay_apart`),
truncated results (`test_a_truncated_result_is_moved_aside_and_computed_again`), a template around a template
(`test_template_wraps_a_prompt_once`), lost document prompts (`test_a_prompt_leaves_the_document_prefix_that_the_model_owns`),
words that fuse (`test_raw_puts_the_separator_between_prompt_and_text`), the advancing random state of clustering
(`test_clustering_scores_do_not_depend_on_the_order_of_prompts`).

Cannot occur here: a prompt in the wrong attribute of a wrapper (none is set through one; the literal prefix goes to
sentence-transformers), codecarbon switched on (`mteb.evaluate`, which starts it, is not called; the task is), mteb's own
result cache and `CachedEmbeddingWrapper` (neither is used to compute), a folder `mteb/...` in the working directory (the
data's fingerprint, not its revision, is part of a cell's identity).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mteb
import numpy as np
import pandas as pd
import pytest
from datasets import Dataset
from studies import STATIC, write_study
from tiny_models import instruct, plain, random_sentence_transformer

from helpers.models.application import Prefixes, prefixes, stock_prefix
from helpers.models.load import LoadedModel, load_model
from helpers.prompts.prompt import Prompt
from helpers.scores.published import read_results
from helpers.study.spec import ModelSpec, TaskSpec
from helpers.sweep import results
from helpers.sweep.cell import make_cells
from helpers.sweep.encoder import SweepEncoder
from helpers.sweep.files import read_cell
from helpers.sweep.group import run_group
from helpers.sweep.quick import given_prompts
from helpers.sweep.run import sweep_study
from helpers.sweep.store import group_folder
from helpers.tasks.demo import DemoRetrieval, DemoSTS, read_jsonl
from helpers.tasks.load import load_task

RETRIEVAL, STS = DemoRetrieval.metadata, DemoSTS.metadata
FALL_BACK = "Retrieve text based on user query."


def entered(model: LoadedModel, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every string that enters the model's tokenizer from now on."""
    for role in (None, "query", "document"):
        model.needs_stock_batches(role)  # tried with texts of its own
    seen: list[str] = []
    first = model.st[0]
    real = first.preprocess

    def spy(inputs: list[str], prompt: str | None = None, **kwargs: Any) -> Any:
        seen.extend((prompt or "") + text for text in inputs)
        return real(inputs, prompt=prompt, **kwargs)

    monkeypatch.setattr(first, "preprocess", spy)
    return seen


def group(model: LoadedModel, task: str, folder: Path, *prompts: str, **keys: Any) -> list[dict[str, Any]]:
    """The records of one (model, task) group after a sweep."""
    study = write_study(folder, [model.spec.model_dump()], [task], **keys)
    report = run_group(study, folder, given_prompts(prompts, [task]), study.models[0], study.tasks[0], model)
    assert report.failed == 0, report.reasons
    place = group_folder(folder, study.models[0], study.tasks[0])
    return [r for p in sorted(place.glob("*-*.json")) if (r := read_cell(p)) is not None]


def test_t3_a_long_prompt_with_line_breaks_is_stored_and_exported(tmp_path: Path) -> None:
    prompt = "检索与问题最相关的段落\n" * 12  # 144 characters, 408 bytes: too long for a folder's name
    study = write_study(tmp_path, [STATIC], ["DemoSTS"], baselines=["none"])
    rows = given_prompts([prompt], ["DemoSTS"])
    sweep_study(study, tmp_path / "run", rows, progress=None)
    assert results.export_mteb(study, tmp_path / "run", rows) == 2
    assert prompt in results.scores_table(study, tmp_path / "run", rows)["prompt"].tolist()


@pytest.mark.parametrize(
    "change",
    [
        {"model": {"dtype": "bfloat16"}},
        {"model": {"max_length": 16}},
        {"model": {"revision": "other"}},
        {"model": {"include_prompt": False}},
        {"prompts": {"separator": "\n"}},
        {"sweep": {"exact": True}},
        {"seed": 7},
    ],
    ids=str,
)
def test_t4_whatever_can_move_a_score_is_part_of_a_cells_identity(change: dict[str, Any], tmp_path: Path) -> None:
    path = random_sentence_transformer(tmp_path, "bert")
    task, rows = load_task(TaskSpec(name="DemoSTS")), given_prompts(["a:"], ["DemoSTS"])

    def stem(model: dict[str, Any] | None = None, prompts: dict[str, Any] | None = None, **keys: Any) -> str:
        given = {"name": "tiny", "weights": f"path:{path}"} | (model or {})
        source = {"source": "file", "file": "data/demo/prompts.yml"} | (prompts or {})
        study = write_study(tmp_path, [given], ["DemoSTS"], prompts=source, baselines=[], **keys)
        (cell,) = make_cells(study, load_model(study.models[0]), task, study.tasks[0], rows)
        return cell.stem

    assert stem() == stem() != stem(**change)


def test_t6_prompts_that_mteb_averages_keep_a_row_each(tmp_path: Path) -> None:
    from mteb.cache import ResultCache

    study = write_study(tmp_path, [STATIC], ["DemoSTS"], baselines=["default"])
    rows = given_prompts(["Sentence:", "Weather report:"], ["DemoSTS"])
    sweep_study(study, tmp_path / "run", rows, progress=None)
    results.export_mteb(study, tmp_path / "run", rows)
    naive = ResultCache(tmp_path / "run").load_results(load_experiments="match_name", require_model_meta=True)
    assert len(naive.to_dataframe()) == 1
    ours = read_results(tmp_path / "run").scores
    wanted = results.scores_table(study, tmp_path / "run", rows)
    assert dict(zip(ours["prompt_id"], ours["main_score"], strict=True)) == pytest.approx(
        dict(zip(wanted["prompt_id"], wanted["main_score"], strict=True)), abs=1e-6
    )


def test_t7_a_prompt_for_a_task_that_mteb_does_not_know_arrives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mteb.models.sentence_transformer_wrapper import SentenceTransformerEncoderWrapper

    model = plain(tmp_path)
    naive = SentenceTransformerEncoderWrapper(model.st, model_prompts={"DemoSTS": "Compare: "})
    assert not naive.model_prompts  # dropped with a warning
    seen = entered(model, monkeypatch)
    group(model, "DemoSTS", tmp_path, "Compare:", baselines=[])
    sentences = {r["sentence1"] for r in read_jsonl("sts")}
    assert {f"Compare: {s}" for s in sentences} <= set(seen)


@pytest.mark.parametrize("kind", ["Retrieval", "Reranking", "InstructionRetrieval", "InstructionReranking"])
def test_t8_no_task_with_sides_puts_the_prompt_on_documents(kind: str, tmp_path: Path) -> None:
    model, metadata = plain(tmp_path), RETRIEVAL.model_copy(update={"type": kind})
    ours = prefixes(model, metadata, Prompt(text="Find:"))
    assert (ours.query, ours.document) == ("Find: ", "")
    model.wrapper.model_prompts = {metadata.name: "Find: "}
    assert stock_prefix(model.wrapper, metadata, "document") == "Find: "


def test_t9_a_prompt_for_queries_leaves_no_fall_back_instruction_on_documents(tmp_path: Path) -> None:
    model = instruct(tmp_path, apply_instruction_to_passages=True)
    model.wrapper.prompts_dict = {"query": "Find it."}
    assert FALL_BACK in stock_prefix(model.wrapper, RETRIEVAL, "document")
    assert prefixes(model, RETRIEVAL, Prompt(text="Find it."), "template").document == ""
    assert FALL_BACK in prefixes(model, RETRIEVAL, Prompt(kind="default")).document


def test_t9_a_document_instruction_that_the_model_owns_stays(tmp_path: Path) -> None:
    model = instruct(
        tmp_path,
        apply_instruction_to_passages=True,
        instruction_template=lambda instruction, role: "text: " if role == "document" else f"{instruction}|",
    )
    found = prefixes(model, RETRIEVAL, Prompt(text="Find it."), "template")
    assert (found.query, found.document) == ("Find it.|", "text: ")


def test_t10_none_is_nothing_where_an_empty_prompt_falls_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = instruct(tmp_path, prompts_dict={"DemoSTS": ""})
    assert "similar" in stock_prefix(model.wrapper, STS, None)
    seen = entered(model, monkeypatch)
    group(model, "DemoSTS", tmp_path, baselines=["none"])
    assert set(seen) <= {r[k] for r in read_jsonl("sts") for k in ("sentence1", "sentence2")}


def test_t13_none_is_nothing_where_sentence_transformers_has_a_default_prompt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = plain(tmp_path, prompts={"query": "q: ", "document": "d: "}, default_prompt_name="query")
    assert stock_prefix(model.wrapper, STS, None) == "q: "
    seen = entered(model, monkeypatch)
    group(model, "DemoSTS", tmp_path / "sts", baselines=["none"])
    group(model, "DemoRetrieval", tmp_path / "retrieval", baselines=["none"])
    assert seen and not [s for s in seen if s.startswith(("q: ", "d: "))]


def test_t15_the_default_is_the_models_own_prompt_also_after_other_prompts(tmp_path: Path) -> None:
    own = {"DemoSTS": "The model's own."}
    model = instruct(tmp_path, prompts_dict=dict(own))
    records = group(model, "DemoSTS", tmp_path, "Other.", baselines=["none", "default"])
    assert model.wrapper.prompts_dict == own
    default = next(r for r in records if r["kind"] == "default")
    assert default["identity"]["prefixes"][2] == "Instruct: The model's own.\nQuery:"


def test_t17_the_share_of_cut_texts_counts_the_prompt(tmp_path: Path) -> None:
    model = plain(tmp_path)
    model.st.max_seq_length = 16
    records = group(model, "DemoSTS", tmp_path, "one two three four five six:", baselines=["none"])
    share = {r["kind"]: r["inputs"][0]["truncated_share"] for r in records}
    assert share["prompt"] > share["none"] + 0.2


CHAT = "{% for m in messages %}[{{ m['role'] }}] {{ m['content'] }} {% endfor %}"


def test_t18_a_chat_templates_prompt_is_a_message_and_the_table_says_so(tmp_path: Path) -> None:
    model = plain(tmp_path, "qwen3", chat_template=CHAT)
    texts = ["a cat", "the way home", "bread", "rain"]
    ours = model.embed(texts, "Find: ")
    assert not np.allclose(ours, model.st.encode(["Find: " + t for t in texts], prompt=""), atol=1e-3)
    np.testing.assert_allclose(ours, model.st.encode(texts, prompt="Find: "), atol=1e-5)
    record = group(model, "DemoSTS", tmp_path, "Find:", baselines=[])[0]
    assert record["chat_template"] is True
    assert record["inputs"][0]["string"].startswith("[ system ] find : [ user ]")


def test_t18_a_prompt_left_out_of_pooling_is_left_out_as_in_stock_mteb(tmp_path: Path) -> None:
    model = plain(tmp_path)
    model.st.set_pooling_include_prompt(False)
    texts = ["decoder", "ly long", "bread"]  # "warm" + "ly" is one token: mteb leaves out a token of the text
    np.testing.assert_allclose(
        model.embed(texts, "keep it warm"), model.st.encode(texts, prompt="keep it warm"), atol=1e-5
    )
    record = group(model, "DemoSTS", tmp_path, "Find:", baselines=[])[0]
    assert record["include_prompt"] is False


def test_t19_a_querys_instruction_follows_the_query_and_the_prompt_leads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = plain(tmp_path)
    encoder = SweepEncoder(model)
    encoder.prefixes = prefixes(model, RETRIEVAL, Prompt(text="Find:"))
    seen = entered(model, monkeypatch)
    encoder.index(Dataset.from_dict({"id": ["d"], "title": ["Cats"], "text": ["sleep"]}), task_metadata=RETRIEVAL)
    queries = Dataset.from_dict({"id": ["q"], "text": ["who sleeps"], "instruction": ["no dogs"]})
    encoder.search(queries, task_metadata=RETRIEVAL, top_k=1)
    assert seen == ["Find: who sleeps no dogs", "Cats sleep"]


def test_t20_titles_are_joined_once_and_documents_embedded_once_for_two_prompts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = plain(tmp_path)
    seen = entered(model, monkeypatch)
    group(model, "DemoRetrieval", tmp_path, "Find:", "Search:", baselines=["none"])
    for passage in read_jsonl("passages"):
        assert seen.count(f"{passage['title']} {passage['text']}".strip()) == 1


def test_t22_local_data_stay_local_after_an_evaluation(tmp_path: Path) -> None:
    folder = tmp_path / "STS15"
    folder.mkdir()
    rows = read_jsonl("sts")[:20]
    pd.DataFrame(rows)[["sentence1", "sentence2", "score"]].to_parquet(folder / "test.parquet")
    task = load_task(TaskSpec(name="STS15"), root=tmp_path)
    wrapper = load_model(ModelSpec(**STATIC)).wrapper
    before = task.metadata.dataset["revision"]
    scores = []
    for _ in range(2):
        found = mteb.evaluate(wrapper, task, cache=None, co2_tracker=False)
        scores.append(found.task_results[0].scores["test"][0]["main_score"])
    assert task.metadata.dataset["revision"] == before != mteb.get_task("STS15").metadata.dataset["revision"]
    assert scores[0] == scores[1]


def test_t23_models_from_folders_have_names_of_their_own(tmp_path: Path) -> None:
    from mteb.models.sentence_transformer_wrapper import SentenceTransformerEncoderWrapper

    one, two = plain(tmp_path / "one", label="one"), plain(tmp_path / "two", "qwen3", label="two")
    ours = [(m.wrapper.mteb_model_meta.name, m.wrapper.mteb_model_meta.revision) for m in (one, two)]
    naive = [SentenceTransformerEncoderWrapper(m.st).mteb_model_meta.revision for m in (one, two)]
    assert [name for name, _ in ours] == ["local/one", "local/two"]
    assert naive[0] == naive[1] and ours[0][1] != ours[1][1]


def test_rounding_a_stored_score_is_the_computed_one_to_the_last_digit(tmp_path: Path) -> None:
    model = load_model(ModelSpec(**STATIC))
    (record,) = group(model, "DemoSTS", tmp_path, baselines=["none"])
    encoder = SweepEncoder(model, exact=True)
    encoder.prefixes = Prefixes("", "", "", "none", None)
    task = load_task(TaskSpec(name="DemoSTS"))
    fresh = task.evaluate(encoder, split="test", encode_kwargs={"batch_size": 32})["default"]["main_score"]
    assert record["main_score"] == fresh != round(fresh, 6)
