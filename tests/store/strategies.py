"""Facts, subjects, verdicts and observations of every kind, also the awkward ones."""

from __future__ import annotations

from hypothesis import strategies as st

from sweeprules.engine.facts import (
    Absent,
    Completeness,
    Interval,
    Reason,
    Ref,
    Relation,
    Source,
    Subject,
    Unknown,
)
from sweeprules.engine.observation import Failure, Observation
from sweeprules.engine.truth import Truth
from sweeprules.engine.verdicts import Action, Flag, Verdict

FORMS = st.sampled_from(["unknown", "absent", "sure", "possible", "map", "float", "detail", "reason"])
TEXT = st.text(max_size=12)
NAMES = st.one_of(FORMS, TEXT)
NUMBERS = st.one_of(st.integers(), st.floats(allow_nan=False))
INTERVALS = st.builds(Interval, st.integers(0, 99), st.one_of(st.none(), st.integers(0, 99)))
VALUES = st.recursive(
    st.one_of(st.booleans(), NUMBERS, TEXT, INTERVALS),
    lambda inner: st.one_of(st.lists(inner, max_size=3).map(tuple), st.dictionaries(NAMES, inner, max_size=3)),
    max_leaves=8,
)
UNKNOWNS = st.builds(Unknown, st.one_of(st.sampled_from(list(Reason)), TEXT), TEXT)
FACTS = st.one_of(VALUES, UNKNOWNS, st.builds(Absent, TEXT))
REFS = st.builds(Ref, st.sampled_from(["job", "run", "cluster"]), TEXT)
SOURCES = st.builds(
    Source,
    TEXT,
    TEXT,
    TEXT,
    TEXT,
    st.one_of(st.none(), st.floats(allow_nan=False)),
    st.one_of(st.none(), st.integers(0, 2**40)),
)
RELATIONS = st.builds(Relation, st.lists(REFS, max_size=3).map(tuple), st.sampled_from(list(Completeness)), TEXT)
SUBJECTS = st.builds(
    Subject,
    REFS,
    st.dictionaries(NAMES, FACTS, max_size=4),
    st.dictionaries(NAMES, SOURCES, max_size=3),
    st.dictionaries(NAMES, RELATIONS, max_size=3),
    st.booleans(),
)
TEXTS = st.lists(TEXT, max_size=3).map(tuple)
TRUTHS = st.dictionaries(TEXT, st.sampled_from(list(Truth)), max_size=3)
FLAGS = st.builds(
    Flag,
    TEXT,
    TEXT,
    TEXT,
    TEXT,
    st.booleans(),
    st.one_of(st.none(), st.integers()),
    TEXTS,
    TEXTS,
    st.booleans(),
    TEXT,
    TEXTS,
    TEXT,
)
ACTIONS = st.builds(
    Action,
    TEXT,
    TEXT,
    st.booleans(),
    st.dictionaries(NAMES, FACTS, max_size=3),
    st.one_of(st.none(), TEXT),
    TEXT,
    TEXTS,
    TEXTS,
    TEXTS,
)
VERDICTS = st.builds(
    Verdict,
    REFS,
    TRUTHS,
    st.dictionaries(NAMES, FACTS, max_size=3),
    st.lists(FLAGS, max_size=2).map(tuple),
    st.lists(ACTIONS, max_size=2).map(tuple),
    TEXT,
    TRUTHS,
)
OBSERVATIONS = st.builds(
    Observation,
    id=TEXT,
    cluster=TEXT,
    login=TEXT,
    argv=TEXTS,
    items=TEXTS,
    started_at=st.floats(allow_nan=False),
    duration=st.floats(0, 1e6),
    exit=st.one_of(st.none(), st.integers(0, 255)),
    stdout=st.binary(max_size=40),
    stderr=st.binary(max_size=10),
    noise=st.binary(max_size=10),
    cut=st.integers(0, 2**50),
    failure=st.sampled_from(list(Failure)),
    detail=TEXT,
    remote_clock=st.one_of(st.none(), st.floats(allow_nan=False)),
)
