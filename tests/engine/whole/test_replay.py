"""The same observations give the same verdicts, byte for byte: again here, and in another process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given

from sweeprules.engine.evaluate.verdict import judge
from sweeprules.store.codec import dump, encode_verdict
from tests.engine.whole.cases import LENGTHS, Case, cases, examples
from tests.engine.whole.replayer import Replayer, stored, verdicts


@pytest.fixture(scope="module")
def other() -> Iterator[Replayer]:
    with Replayer() as process:
        yield process


@pytest.mark.parametrize("count", LENGTHS)
def test_a_replay_is_byte_identical(other: Replayer, count: int) -> None:
    sizes = []
    before = other.asked

    @examples(count)
    @given(cases)
    def law(case: Case) -> None:
        found = judge(case.policy, case.world, None, None, case.held)
        live = dump([[ref.kind, ref.key, encode_verdict(verdict)] for ref, verdict in found.items()])
        kept = stored(case.world)
        assert verdicts(case.policy, kept, case.held) == live
        assert other.replay(case.policy, kept, case.held) == live
        sizes.append(len(live))

    law()
    assert other.asked - before >= count
    assert sum(sizes) > 500 * count
