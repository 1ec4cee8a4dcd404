"""What a part of a policy is made of, found wherever it stands and in the order of writing."""

from __future__ import annotations

from sweeprules.engine.errors import Mark
from sweeprules.engine.language.ast import FieldRef, ParamRef, Path
from sweeprules.engine.language.walk import within

LEFT, RIGHT = ParamRef("left"), ParamRef("right")
PATH = Path("job", (), "log_age", "duration")


def test_tuples_mappings_and_values_are_gone_through_in_their_order() -> None:
    field = FieldRef(PATH)
    assert list(within({"a": (LEFT, {"b": field}), "c": RIGHT})) == [LEFT, field, PATH, RIGHT]


def test_the_part_itself_comes_first_and_what_is_no_value_of_the_language_does_not() -> None:
    assert list(within(LEFT)) == [LEFT]
    assert list(within(("text", 3, None, Mark("a.yaml", 1, 1), ParamRef))) == []
