"""The cluster as a subject: its record, its reservations, its refusals, its certificates, its counts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sweeprules.collectors.cluster import blocked, counts, is_skipped, skipped
from sweeprules.collectors.credentials import certificates, credential_subject
from sweeprules.collectors.prior import JobMemo, LineMemo, LogMemo, Prior, SignatureMemo
from sweeprules.engine.facts import ABSENT, NOT_READ, Completeness, Interval, Ref, Subject, Unknown
from sweeprules.engine.site import BrokenRecord, Downtime, Refusal
from tests.collectors.slurm.fake import NOW, FakeFile, FakeSession, Login, job, observation, record
from tests.collectors.slurm.sweeps import reason, sweep

REFUSED = "Invalid account or account/partition combination"
VALID = """x-cert.pub:
        Type: ssh-ed25519-cert-v01@openssh.com user certificate
        Valid: from {start} to {end}
        Principals:
"""


# ---------------------------------------------------------------- records


def test_s05_a_downtime_is_skipped_and_one_that_is_over_is_not():
    window = record(downtime=(Downtime(NOW - 10, NOW + 10, "data centre"),))
    assert is_skipped(window, NOW)
    assert not is_skipped(window, NOW + 10)
    subject = skipped(window, NOW, None)
    assert subject.get("status") == "skipped"
    assert subject.get("in_downtime") is True
    assert subject.get("downtime_over") is False
    assert subject.get("queue") is NOT_READ
    assert subject.relations["jobs"].completeness is Completeness.UNKNOWN
    off = replace(window, enabled=False, because="dropped")
    assert is_skipped(off, NOW + 99)
    assert skipped(off, NOW + 99, NOW).get("downtime_over") is True


def test_s88_a_broken_record_blocks():
    subject = blocked(BrokenRecord("tacc", "ops/tacc/cluster.yaml", "", ("2:1: no user",)))
    assert subject.get("status") == "blocked"
    assert subject.get("record_loaded") is False


def test_what_the_record_sets_is_a_fact_and_what_it_does_not_is_absent():
    done = sweep(FakeSession([]), of=record(caps={"rl_running": 6}, gpu_memory_limit=64, dotenv="x.env"))
    facts = done.cluster.facts
    assert facts["caps.rl_running"] == 6
    assert facts["caps.jobs_running"] is ABSENT
    assert facts["gpu_memory_limit"] == 64
    assert facts["dotenv"] == "x.env"
    assert facts["record_sha256"] == "0" * 64
    assert facts["since"] == NOW - 86400
    assert facts["submit_refusals"] is ABSENT


def test_counts_widen_with_states_that_are_not_known():
    def one(number: int, state: object) -> Subject:
        return Subject(Ref("job", f"c:{number}"), {"state": state})  # type: ignore[dict-item]

    jobs = [one(1, "RUNNING"), one(2, "RUNNING"), one(3, "PENDING"), one(4, Unknown("vanished"))]
    buckets = {jobs[0].ref: "rl", jobs[1].ref: "eval", jobs[3].ref: "rl"}
    whole = counts(jobs, buckets, whole=True)
    assert whole["rl_running"] == Interval(1, 2)
    assert whole["eval_running"] == 1
    assert whole["jobs_running"] == Interval(2, 3)
    assert counts(jobs, buckets, whole=False)["eval_running"] == Interval(1, None)


# ---------------------------------------------------------------- refusals


def refused(files: dict[str, FakeFile], **more: object):
    of = record(paths={"logs": ("/launch",)}, refusals=(Refusal(REFUSED, "maintenance"),), **more)
    return sweep(FakeSession([job("1", name="rl__x")], files), of=of)


def test_s50_refusals_of_the_window_are_read_from_launchers_logs():
    text = f"2027-01-15T07:00:00 sbatch: error: Batch job submission failed: {REFUSED}\n".encode()
    done = refused(
        {
            "/launch/new.log": FakeFile(text, NOW - 600, 1),
            "/launch/old.log": FakeFile(text, NOW - 200_000, 2),
            "/launch/rl__x_1.out": FakeFile(text, NOW - 10, 3),
        }
    )
    (one,) = done.cluster.get("submit_refusals")
    assert one["log"] == "/launch/new.log"
    assert one["time"] == 1799996400.0
    assert REFUSED in one["text"]
    assert done.cluster.get("refusal_means") == "maintenance"


def test_a_line_without_a_time_counts_at_the_files_last_write():
    (one,) = refused({"/launch/new.log": FakeFile(REFUSED.encode(), NOW - 600)}).cluster.get("submit_refusals")
    assert one["time"] == NOW - 600


def test_no_refusal_is_an_empty_list_and_an_unread_directory_is_unknown():
    assert refused({"/launch/new.log": FakeFile(b"fine\n")}).cluster.get("submit_refusals") == ()
    session = FakeSession([])
    session._ls = lambda words, command: (2, "", "ls: cannot open directory: Permission denied\n")  # type: ignore[method-assign]
    done = sweep(session, of=record(paths={"logs": ("/launch",)}))
    assert reason(done.cluster.get("submit_refusals")) == "read-failed"


@pytest.mark.parametrize(("age", "told"), [(600, False), (200_000, True)], ids=["of the window", "older"])
def test_a_launchers_log_of_the_window_that_can_not_be_read_leaves_the_refusals_unknown(age: float, told: bool):
    session = FakeSession([job("1", name="rl__x")], {"/launch/new.log": FakeFile(b"fine\n", NOW - age)})
    session._tail = lambda words, command: (1, "", "tail: error reading: Input/output error\n")  # type: ignore[method-assign]
    done = sweep(session, of=record(paths={"logs": ("/launch",)}))
    refusals, log = done.cluster.get("submit_refusals"), done.job("1").get("launcher_log")
    if told:
        assert refusals == () and log is ABSENT
    else:
        assert reason(refusals) == reason(log) == "read-failed" and "/launch/new.log" in refusals.detail


def test_a_launcher_tells_of_its_job_and_lends_its_faults_to_one_without_a_log():
    log = FakeFile(b"Submitted batch job 7\nOSError: [Errno 122] Disk quota exceeded\n", NOW - 300)
    failed = job("7", "FAILED", exit="0:53", workdir="/gone", command="-o /gone/x.out x")
    of = record(paths={"logs": ("/launch",)})
    done = sweep(FakeSession([failed], {"/launch/a.log": log}), of=of)
    one = done.job("7")
    assert one.get("launcher_log") == "/launch/a.log"
    assert one.get("log.exists") is ABSENT
    assert one.get("lines.errno-122.count") == Interval(1, None)
    assert one.get("fault_lines") == {"errno-122": 1}
    assert done.job("7").get("exit") == "0:53"


# ---------------------------------------------------------------- certificates


def with_certs(text: str, code: int = 0, name: str = "hf_upload_x"):
    of = record(raw={"certs": [{"path": "~/.ssh/x-cert.pub", "needed_by": ["hf_upload"], "warn": "2h"}]})
    session = FakeSession([job("1", name=name)], certs={".ssh/x-cert.pub": (code, text)})
    done = sweep(session, of=of)
    ref = Ref("credential", "leonardo:~/.ssh/x-cert.pub")
    return done, done.of(ref)


def test_s49_a_certificate_is_read_in_utc():
    done, cert = with_certs(VALID.format(start="2027-01-14T20:00:00", end="2027-01-15T07:30:00"))
    assert cert.get("valid_until") == NOW - 1800
    assert cert.get("left") == 0.0
    assert cert.get("forever") is False
    assert cert.get("needed_by") == ("hf_upload",)
    assert "Valid: from" in cert.sources["valid_until"].line
    assert done.job("1").relations["credential"].members == (cert.ref,)
    assert done.cluster.relations["credentials"].members == (cert.ref,)


def test_a_certificate_that_never_ends_and_one_that_is_not_there():
    _, cert = with_certs("x:\n        Type: x user certificate\n        Valid: forever\n")
    assert (cert.get("forever"), cert.get("left")) == (True, ABSENT)
    _, gone = with_certs(".ssh/x-cert.pub: No such file or directory\n", 255)
    assert gone.get("valid_until") is ABSENT


@pytest.mark.parametrize(
    ("text", "code"), [("not a certificate\n", 1), ("x:\n", 0), (VALID.format(start="a", end="b"), 0)]
)
def test_a_certificate_that_can_not_be_read_is_unknown(text, code):
    _, cert = with_certs(text, code)
    assert reason(cert.get("valid_until"))


def test_a_cluster_with_several_certificates_gives_a_job_only_its_own():
    of = record(raw={"certs": [{"path": "a", "needed_by": ["hf_upload"]}, {"path": "b", "needed_by": ["tunnel"]}]})
    done = sweep(FakeSession([job("1", name="rl__x"), job("2", name="hf_upload_x")]), of=of)
    assert done.job("1").relations["credential"].completeness is Completeness.UNKNOWN
    assert done.job("2").relations["credential"].members == (Ref("credential", "leonardo:a"),)
    assert [cert.path for cert in certificates(of)] == ["a", "b"]


def test_the_time_that_is_left_is_on_the_clusters_clock():
    text = VALID.format(start="2027-01-14T20:00:00", end="2027-01-15T09:00:00")
    one = replace(observation(("ssh-keygen",), text), remote_clock=NOW + 600)
    (wanted,) = certificates(record(raw={"certs": [{"path": "a"}]}))
    assert credential_subject("leonardo", wanted, one, NOW).get("left") == 3000.0


# ---------------------------------------------------------------- the state between sweeps


def test_the_kept_state_comes_back_equal():
    log = LogMemo("/w/x", "scheduler", 1, 2, 30, 5.0, {"bar": LineMemo(2, 7.0, {"n": 3})}, True)
    memo = JobMemo(
        "c", "7", "alice", "x\n", "/w", "FAILED", "", 1.0, 2.0, 3.0, 1.0, "1:0", False, "rl", "c:7", 0.0, 9.0, True, 0,
        log, SignatureMemo("1:0", "E", "f", 1.0),
    )  # fmt: skip
    first = sweep(FakeSession([job("1"), job("2", "FAILED", exit="1:0")])).prior
    for prior in (Prior(), Prior({"c:7": memo}, {}, frozenset({("c:8", "c:7")})), first):
        assert Prior.from_data(prior.to_data()) == prior
    assert Prior.from_data({}) == Prior()
    with pytest.raises(ValueError, match="version 2"):
        Prior.from_data({"version": 2})


def test_a_job_is_forgotten_thirty_days_after_it_was_last_seen():
    first = sweep(FakeSession([job("1", "COMPLETED")])).prior
    later = sweep(FakeSession([]), first, now=NOW + 31 * 86400).prior
    assert "leonardo:1" in first.jobs
    assert later.jobs == {}


def test_a_partial_sweep_does_not_move_the_window():
    good = sweep(FakeSession([job("1")])).prior
    hung = {"squeue": (1, "", "slurm_load_jobs error: Socket timed out on send/recv operation\n")}
    bad = sweep(FakeSession([job("1")], logins={"login01": Login(broken=hung)}), good, now=NOW + 7200).prior
    assert bad.clusters["leonardo"].last_good == NOW
