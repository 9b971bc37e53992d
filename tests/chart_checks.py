"""What a test asks of a chart: does every encoded field exist in its data, and how many marks are drawn?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import vl_convert

VIEWS = ("layer", "hconcat", "vconcat", "concat")


def fields_exist(chart: Any) -> None:
    """Every field that a layer, facet, repeat or transform uses is in its data or made by a transform before it.

    Raises AssertionError with the field and the layer.
    """
    spec = chart.to_dict()
    _check(spec, set(), spec.get("datasets", {}), "chart", {})


def rows_drawn(chart: Any) -> dict[str, int]:
    """How many marks each layer draws, over all its panels, after filters and means: `{"layer_0": 15, "layer_1": 2}`.

    A line counts once per series; a chart of one layer is called "marks". The total: `sum(rows_drawn(chart).values())`.
    """
    counts: dict[str, int] = {}
    for name, number in _marks(vl_convert.vegalite_to_scenegraph(chart.to_dict())["scenegraph"]):
        layer = name.removesuffix("_marks").removeprefix("child_")
        counts[layer] = counts.get(layer, 0) + number
    return counts


def _marks(node: dict[str, Any]) -> Iterator[tuple[str, int]]:
    items = node.get("items", [])
    if node.get("role") == "mark" and node.get("marktype") != "group":
        yield node.get("name") or "marks", len(items)
    for item in items:
        if isinstance(item, dict):
            yield from _marks(item)


def _check(spec: dict[str, Any], columns: set[str], data: dict[str, Any], where: str, repeat: dict[str, str]) -> None:
    columns = (_columns(spec["data"], data) if spec.get("data") else columns) | {"*"}
    for transform in spec.get("transform", []):
        for field in _used(transform):
            _known(field, columns, f"{where}: transform {next(iter(transform))}")
        columns = columns | _made(transform, columns)
    facet = spec.get("facet", {})
    facets = [facet] if "field" in facet else [v for v in facet.values() if isinstance(v, dict)]
    for part in [*facets, *spec.get("encoding", {}).values()]:
        for field in _encoded(part, repeat):
            _known(field, columns, f"{where}: {_mark(spec)}")
    for param in spec.get("params", []):
        select = param.get("select")
        for field in select.get("fields", []) if isinstance(select, dict) and "views" not in param else []:
            _known(field, columns, f"{where}: selection {param['name']}")
    views = [(f"{where}.{kind}[{n}]", view) for kind in VIEWS for n, view in enumerate(spec.get(kind, []))]
    inherited = spec.get("encoding", {}) if "layer" in spec else {}
    for name, view in views:
        _check({**view, "encoding": {**inherited, **view.get("encoding", {})}}, columns, data, name, repeat)
    if "spec" in spec:
        for chosen in _repeats(spec.get("repeat")) or [repeat]:
            _check(spec["spec"], columns, data, f"{where}.spec", chosen)


def _repeats(repeat: Any) -> list[dict[str, str]]:
    if isinstance(repeat, list):
        return [{"repeat": field} for field in repeat]
    return [{axis: field} for axis, fields in (repeat or {}).items() for field in fields]


def _columns(source: dict[str, Any], data: dict[str, Any]) -> set[str]:
    values = source["values"] if "values" in source else data.get(source.get("name"), [])
    assert isinstance(values, list), "only charts that carry their rows are checked"
    return {key for row in values for key in row}


def _known(field: str, columns: set[str], where: str) -> None:
    name = field.replace("\\", "")
    assert name in columns, f"no field '{name}' in {where}; there are {sorted(columns - {'*'})}"


def _mark(spec: dict[str, Any]) -> str:
    mark = spec.get("mark", "facet" if "facet" in spec else "layers")
    return mark["type"] if isinstance(mark, dict) else mark


def _encoded(part: Any, repeat: dict[str, str]) -> Iterator[str]:
    """The fields of one channel: its own, those of its sort and of its conditions."""
    if isinstance(part, list):
        for entry in part:
            yield from _encoded(entry, repeat)
    elif isinstance(part, dict):
        field = part.get("field")
        if isinstance(field, dict):
            yield repeat.get(field["repeat"], f"repeat {field['repeat']}")
        elif field is not None:
            yield field
        yield from _encoded(part.get("sort"), repeat)
        yield from _encoded(part.get("condition"), repeat)
        yield from _named(part.get("test"))


def _named(test: Any) -> Iterator[str]:
    """The fields in an expression or a predicate."""
    if isinstance(test, str):
        yield from re.findall(r"datum\.([A-Za-z_]\w*)", test)
        yield from re.findall(r"datum\[['\"]([^'\"]+)['\"]\]", test)
    elif isinstance(test, dict):
        if "field" in test:
            yield test["field"]
        for part in (*test.get("and", []), *test.get("or", []), test.get("not")):
            yield from _named(part)


def _used(transform: dict[str, Any]) -> Iterator[str]:
    yield from _named(transform.get("filter"))
    yield from _named(transform.get("calculate"))
    yield from transform.get("groupby", [])
    yield from transform.get("fold", [])
    yield from transform.get("flatten", [])
    for key in ("aggregate", "joinaggregate", "window"):
        steps = transform.get(key, [])
        yield from (step["field"] for step in steps if "field" in step)
    for key in ("bin", "pivot", "density", "impute", "stack", "quantile"):
        name = transform.get(key) if isinstance(transform.get(key), str) else None
        if name or (key == "bin" and key in transform):
            yield name or transform["field"]


def _made(transform: dict[str, Any], columns: set[str]) -> set[str]:
    names = transform.get("as", [])
    made = {names} if isinstance(names, str) else set(names)
    if "fold" in transform and not made:
        made = {"key", "value"}
    if "density" in transform and not made:
        made = {"value", "density"}
    for key in ("aggregate", "joinaggregate", "window"):
        made |= {step["as"] for step in transform.get(key, [])}
    return made
