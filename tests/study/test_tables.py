"""What a room declares of its tables is checked when one is saved."""

import pandas as pd
import pytest

from helpers.study.tables import Column, check_table, completed, declared_tables

TRAITS = {
    **{"trait": "ends in colon", "effect": 0.2, "low": 0.1, "high": 0.3, "p_value": 0.01},
    **{"stands_for": "", "tasks": 3, "texts": 15, "rarer_texts": 4, "with_trait": 0.3, "q_value": 0.02},
}


def test_a_table_as_declared_is_accepted():
    check_table("traits", pd.DataFrame([TRAITS]))
    check_table("traits", pd.DataFrame(columns=list(TRAITS)))  # empty: no types to check
    check_table("my own table", pd.DataFrame({"anything": [1]}))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"texts": "15"}, "column 'texts' holds"),
        ({"texts": 15.5}, "not integer"),
        ({"effects": 1.0}, "unknown column 'effects'; did you mean effect?"),
    ],
)
def test_another_column_or_type_is_named_with_the_file_to_change(change, message):
    with pytest.raises(ValueError, match=r"src/helpers/sensitivity/tables\.yml") as caught:
        check_table("traits", pd.DataFrame([TRAITS | change]))
    assert message in str(caught.value)


def test_a_lost_column_is_named():
    with pytest.raises(ValueError, match="no column 'q_value'"):
        check_table("traits", pd.DataFrame([TRAITS]).drop(columns="q_value"))


def test_whole_numbers_with_gaps_are_integers_and_missing_values_fit_every_type():
    column = Column.read("n", "integer | a count")
    assert column.fits(pd.Series([1.0, None])) and column.fits(pd.Series([None, None]))
    assert not column.fits(pd.Series([True])) and not column.fits(pd.Series([0.5]))


def test_a_table_like_another_has_its_columns_first():
    tables = declared_tables()
    assert list(tables["tuning_geometry"].columns) == [*tables["geometry"].columns, "preset", "seed"]
    assert tables["tuning_contrast"].columns["before"].meaning == "that of the ablation"


def test_every_column_says_what_it_is():
    columns = [c for t in declared_tables().values() for c in t.columns.values()]
    assert all(c.meaning and c.type in ("text", "number", "integer", "boolean") for c in columns)


def test_a_table_without_rows_is_saved_with_its_columns():
    nothing = completed("tuning_removed", pd.DataFrame())
    assert list(nothing) == ["id", "reason", "text", "other", "similarity"]
    check_table("tuning_removed", nothing)
    assert list(completed("tuning_removed", pd.DataFrame({"id": ["a"]}))) == ["id"]
