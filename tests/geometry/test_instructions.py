"""The instruction bank keeps study 2's counts, quotes mteb exactly, and explains what is wrong with an
entry.
"""

from collections import Counter

import pytest

from helpers.base.files import project_root
from helpers.geometry.instructions import load_instructions, mteb_default, select
from helpers.study.geometry import GROUPS, Instruction, InstructionError

BANK_FILE = project_root() / "data" / "instructions.yml"


@pytest.fixture(scope="module")
def bank():
    return load_instructions(BANK_FILE, read_mteb=False)


@pytest.mark.parametrize(
    "kind, relevant_for, total, relevant",
    [("retrieval", "question-answering", 47, 7), ("bitext-mining", "bitext-mining", 51, 10)],
)
def test_counts_are_those_of_the_paper(bank, kind, relevant_for, total, relevant):
    chosen = select(bank, kind, controls=False)
    assert len(chosen) == total
    assert sum(i.is_relevant(relevant_for) for i in chosen) == relevant


def test_every_group_of_the_paper_is_there_with_source_and_motivation(bank):
    groups = Counter(i.group for i in bank)
    assert set(groups) == set(GROUPS) - {"own"}
    assert min(groups.values()) >= 4
    assert all(i.source and i.motivation for i in bank)


def test_controls_are_six_per_kind_and_never_relevant(bank):
    for kind in ("retrieval", "bitext-mining"):
        controls = [i for i in select(bank, kind) if i.control]
        assert len(controls) == 6
        assert not any(i.relevant_for for i in controls)


def test_shuffled_controls_hold_the_same_words(bank):
    texts = {i.id: sorted(i.text.replace(".", "").split()) for i in bank}
    assert texts["control-shuffled-qa"] == texts["qa-answer"]
    assert texts["control-shuffled-bitext"] == texts["bitext-corresponding-lang"]


def test_category_defaults_equal_the_installed_mteb(bank):
    quoted = [i for i in bank if i.mteb]
    assert len(quoted) == 8
    assert {i.id: mteb_default(i.mteb) for i in quoted} == {i.id: i.text for i in quoted}


def test_text_of_the_installed_mteb_wins_and_an_absent_class_falls_back(tmp_path):
    path = tmp_path / "bank.yml"
    path.write_text(
        "instructions:\n"
        "  - {id: a, text: outdated, mteb: 'mteb.abstasks.sts:AbsTaskSTS', source: mteb}\n"
        "  - {id: b, text: kept, mteb: 'mteb.abstasks.gone:AbsTaskGone'}\n"
    )
    first, second = load_instructions(path)
    assert first.text == "Retrieve semantically similar text." and "installed mteb" in first.source
    assert second.text == "kept"


def test_language_is_replaced_and_its_absence_is_an_error():
    instruction = Instruction(id="a", text="Translate {lang} {x}.")
    assert instruction.render("Finnish") == "Translate Finnish {x}."
    with pytest.raises(InstructionError, match="'a' needs"):
        instruction.render("")


def test_only_four_instructions_name_the_language(bank):
    naming = [i for i in bank if "{lang}" in i.text and not i.control]
    assert [i.banks for i in naming] == [("bitext-mining",)] * 4


@pytest.mark.parametrize(
    "content, message",
    [
        ("instructions: [{id: a, text: x, grup: vague}]", "instruction 'a', key 'grup'"),
        ("instructions: [{id: a, text: x, group: vauge}]", "unknown group 'vauge'"),
        ("instructions: [{id: a, text: x}, {id: a, text: y}]", "two instructions have the id 'a'"),
        ("instructions: [{id: a, text: x}, {id: b, text: x}]", "two instructions have the text 'x'"),
        ("instructions: [{id: none, text: x}]", "kept for queries without"),
        ("instruction: []", "needs the key 'instructions'"),
        ("instructions: []\nextra: 1", "unknown key 'extra'"),
    ],
)
def test_errors_name_entry_and_remedy(tmp_path, content, message):
    path = tmp_path / "bank.yml"
    path.write_text(content)
    with pytest.raises(InstructionError, match=message):
        load_instructions(path)


def test_own_instructions_join_the_bank_and_groups_restrict_it():
    own = Instruction(id="mine", text="Find proofs.", relevant_for=("DemoRetrieval",))
    bank = load_instructions(BANK_FILE, extra=[own], read_mteb=False)
    assert own.is_relevant("question-answering", "DemoRetrieval") and not own.is_relevant("question-answering")
    chosen = select(bank, "retrieval", groups=["own", "vague"], controls=False)
    assert [i.id for i in chosen][-1] == "mine" and len(chosen) == 7
    with pytest.raises(InstructionError, match="no instruction has the group 'vage'"):
        select(bank, "retrieval", groups=["vage"])
