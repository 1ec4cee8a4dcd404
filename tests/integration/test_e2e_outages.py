"""Outages, end to end: each sweep ends in time, says what it could not see, and is right again afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass

import pytest

from tests.integration.e2e.expected import SLOW
from tests.integration.e2e.product import Product, Sweep
from tests.integration.e2e.truth import truth
from tests.testbed.jobs import Submitted
from tests.testbed.layout import LOGINS
from tests.testbed.slurm import Slurm
from tests.testbed.ssh import Logins

DEADLINE = 40
SLACK = 20.0
"""Seconds beyond the sweep's deadline that a busy machine may need to judge and print."""
#: What Slurm's commands hang on is asked on two logins and given up soon, so that the tests end.
HANGING = {"fallbacks": ["login02"], "command_timeout": "5s"}
TWO_LOGINS = {"fallbacks": ["login02"]}
Outage = Callable[[], AbstractContextManager[None]]
Around = Callable[[Outage], AbstractContextManager[None]]


@dataclass(slots=True)
class State:
    """One state folder for all outages of this file: each starts from the good sweep that ended the one before."""

    product: Product
    last: Sweep


@pytest.fixture(scope="module")
def state(logins: Logins, standard_jobs: Submitted, tmp_path_factory: pytest.TempPathFactory) -> State:
    standard_jobs.settled(SLOW, deadline=180)  # from here on no job ends or starts by itself
    product = Product(tmp_path_factory.mktemp("outages"), logins)
    sweep = product.sweep()
    assert (sweep.status, sweep.complete) == (0, True)
    return State(product, sweep)


@pytest.fixture
def product(state: State) -> Product:
    return state.product


@pytest.fixture
def before(state: State) -> Sweep:
    """The last good sweep."""
    return state.last


@pytest.fixture
def around(state: State, slurm: Slurm) -> Iterator[Around]:
    """An outage after a good sweep; after it, a sweep that must be right again."""

    @contextmanager
    def whole(outage: Outage) -> Iterator[None]:
        with outage():
            yield
        state.product.record()
        earlier = truth(slurm)
        again = state.product.sweep()
        assert (again.status, again.complete, again.cluster["queue"]) == (0, True, "ok")
        assert again.cluster_flags == {}
        now = truth(slurm)
        for job in now.active():
            assert again.has(job), f"{job} is {now.states[job]} and not in the report"
            # A job may start while the sweep runs: it is what it was before, or what it is after.
            assert again.state(job) in (earlier.states.get(job), now.states[job])
        state.last = again

    yield whole


def alive(sweep: Sweep) -> set[str]:
    """The jobs that a sweep saw in the queue."""
    return {job for job in sweep.links if sweep.state(job) in ("RUNNING", "PENDING")}


def hold_to_promises(sweep: Sweep, before: Sweep, slurm_states: dict[str, str] | None = None) -> None:
    """What no outage may break: an end in time, every row kept, and no end, drain or health that nobody saw."""
    assert sweep.seconds < DEADLINE + SLACK
    assert "drain" not in (sweep.cluster["because"] or "") and sweep.cluster["queue"] != "empty"
    assert alive(before) <= set(sweep.links), "a job of the last sweep lost its row"
    ended = sweep.ended() & alive(before)
    assert ended <= {job for job, state in (slurm_states or {}).items() if state not in ("RUNNING", "PENDING")}
    for entry in sweep.entries:
        if entry["state"] == "UNKNOWN":
            assert entry["health"] in ("unknown", "flagged")
            assert sweep.unknown_state(entry["job_id"]) in ("vanished", "disagree", "read-failed")
            assert not entry["flags"] or {flag["name"] for flag in entry["flags"]} <= {"evidence-missing"}


def hold_queue_unknown(sweep: Sweep) -> None:
    assert (sweep.status, sweep.complete) == (3, False)
    assert (sweep.cluster["status"], sweep.cluster["queue"]) == ("partial", "unknown")
    assert {"queue-unknown", "false-drain-suspect"} <= set(sweep.cluster_flags)
    assert not sweep.cluster_flags["false-drain-suspect"]["resolved"]
    assert "cluster-unreachable" not in sweep.cluster_flags
    assert {"retry-later", "recheck-login-node"} <= {action["name"] for action in sweep.cluster["actions"]}


def now_states(slurm: Slurm) -> dict[str, str]:
    return dict(truth(slurm).states)


@pytest.mark.parametrize("outage", ["slurmctld_killed", "slurmctld_hanging"])
def test_without_slurmctld_the_queue_is_unknown(
    outage: str, product: Product, before: Sweep, around: Around, slurm: Slurm
) -> None:
    with around(getattr(slurm, outage)):
        product.record(reach=HANGING if "hanging" in outage else TWO_LOGINS)
        sweep = product.sweep("--deadline", f"{DEADLINE}s")
        hold_queue_unknown(sweep)
        assert sweep.cluster["because"].startswith("queue: ")
        # Accounting answered, and is all that is believed of them: none has ended.
        hold_to_promises(sweep, before)
        for job in alive(before):
            assert sweep.state(job) in ("RUNNING", "PENDING", "UNKNOWN")


def test_with_neither_queue_nor_accounting_every_job_is_unknown(
    product: Product, before: Sweep, around: Around, slurm: Slurm
) -> None:

    @contextmanager
    def both() -> Iterator[None]:
        with slurm.slurmdbd_killed(), slurm.slurmctld_killed():
            yield

    with around(both):
        product.record(reach=TWO_LOGINS)
        sweep = product.sweep("--deadline", f"{DEADLINE}s")
        hold_queue_unknown(sweep)
        assert "evidence-missing" in sweep.cluster_flags
        hold_to_promises(sweep, before)
        assert {sweep.state(job) for job in alive(before)} == {"UNKNOWN"}
        assert {entry["health"] for entry in sweep.entries} == {"unknown"}


@pytest.mark.parametrize("outage", ["slurmdbd_killed", "slurmdbd_hanging"])
def test_without_accounting_the_queue_still_counts(
    outage: str, product: Product, before: Sweep, around: Around, slurm: Slurm
) -> None:
    with around(getattr(slurm, outage)):
        product.record(reach=HANGING)
        sweep = product.sweep("--deadline", f"{DEADLINE}s")
        assert (sweep.status, sweep.complete) == (3, False)
        assert (sweep.cluster["status"], sweep.cluster["queue"]) == ("partial", "ok")
        assert sweep.cluster["because"].startswith("accounting: ")
        assert not {"queue-unknown", "false-drain-suspect"} & set(sweep.cluster_flags)
        hold_to_promises(sweep, before)


def test_when_every_command_hangs_on_munge_nothing_is_claimed(
    product: Product, before: Sweep, around: Around, slurm: Slurm
) -> None:
    with around(slurm.munge_hanging):
        product.record(reach=HANGING)
        sweep = product.sweep("--deadline", "25s")
        assert (sweep.status, sweep.complete, sweep.cluster["queue"]) == (3, False, "unknown")
        assert sweep.cluster["status"] in ("partial", "unreachable")
        assert {"queue-unknown", "cluster-unreachable"} & set(sweep.cluster_flags)
        hold_to_promises(sweep, before)
        assert {sweep.state(job) for job in alive(before)} == {"UNKNOWN"}


@pytest.mark.parametrize("outage", ["cannot_fork", "hanging", "refusing"])
def test_the_next_login_is_used(
    outage: str,
    product: Product,
    before: Sweep,
    around: Around,
    slurm: Slurm,
    logins: Logins,
) -> None:
    sessions = logins.sessions("login02")
    with around(lambda: getattr(logins, outage)("login01")):
        sweep = product.sweep("--deadline", f"{DEADLINE}s")
        assert (sweep.status, sweep.complete) == (0, True)
        assert (sweep.cluster["status"], sweep.cluster["queue"]) == ("swept", "ok")
        assert sweep.cluster["login"] == "login02" and logins.sessions("login02") > sessions
        flags = sweep.cluster_flags
        if outage == "cannot_fork":  # a saturated login answers with nothing, which reads like a drain (S03)
            assert set(flags) == {"false-drain-suspect"}
            assert (flags["false-drain-suspect"]["resolved"], flags["false-drain-suspect"]["severity"]) == (
                True,
                "info",
            )
        else:
            assert flags == {}
        hold_to_promises(sweep, before, now_states(slurm))
        assert {sweep.state(job) for job in sweep.links} <= {"RUNNING", "PENDING", "TIMEOUT", "DEADLINE"}


def test_text_before_the_first_frame_is_noise(
    product: Product, before: Sweep, around: Around, logins: Logins, slurm: Slurm
) -> None:
    with around(lambda: logins.noisy("login01")):
        sweep = product.sweep("--deadline", f"{DEADLINE}s")
        assert (sweep.status, sweep.complete, sweep.cluster["queue"]) == (0, True, "ok")
        assert sweep.cluster["login"] == "login01" and sweep.cluster_flags == {}
        hold_to_promises(sweep, before, now_states(slurm))


def test_a_cluster_of_which_no_login_answers_is_unreachable(
    product: Product, before: Sweep, around: Around, logins: Logins
) -> None:

    @contextmanager
    def all_refuse() -> Iterator[None]:
        with ExitStack() as stack:
            for host in LOGINS:
                stack.enter_context(logins.refusing(host))
            yield

    with around(all_refuse):
        sweep = product.sweep("--deadline", f"{DEADLINE}s")
        assert (sweep.status, sweep.complete) == (3, False)
        assert (sweep.cluster["status"], sweep.cluster["queue"]) == ("unreachable", "unknown")
        assert set(sweep.cluster_flags) == {"cluster-unreachable"}
        for host in LOGINS:
            assert host in sweep.cluster["because"]
        hold_to_promises(sweep, before)
        assert {sweep.state(job) for job in alive(before)} == {"UNKNOWN"}
        assert {entry["health"] for entry in sweep.entries} == {"unknown"}


def test_a_true_drain_is_believed(slurm: Slurm, logins: Logins, tmp_path_factory: pytest.TempPathFactory) -> None:
    assert truth(slurm, "bob").active() == set()
    sweep = Product(tmp_path_factory.mktemp("drain"), logins, user="bob").sweep()
    assert (sweep.status, sweep.complete) == (0, True)
    assert (sweep.cluster["status"], sweep.cluster["queue"]) == ("swept", "empty")
    assert sweep.cluster_flags == {} and not {e for e in sweep.entries if e["state"] in ("RUNNING", "PENDING")}


def test_the_silence_about_a_misspelt_user_is_no_drain(
    logins: Logins, slurm: Slurm, tmp_path_factory: pytest.TempPathFactory
) -> None:
    product = Product(tmp_path_factory.mktemp("misspelt"), logins, user="allice", ssh_user="alice")
    sweep = product.sweep("--deadline", f"{DEADLINE}s")
    hold_queue_unknown(sweep)
    assert "allice" in sweep.cluster["because"]
    assert sweep.entries == []
