"""The first cause by the shipped patterns, in wordings of other releases and launchers than the recorded samples."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import pytest

from sweeprules.collectors.logs.candidates import read_causes
from sweeprules.collectors.logs.causes import Cause, first_cause
from sweeprules.collectors.logs.lines import Chunk
from sweeprules.collectors.logs.scan import prepare
from sweeprules.collectors.logs.traces import tracebacks
from tests.rules.shipped import policy

UNTIL = 1_782_907_200.0
"""2026-07-01T12:00:00Z."""
TRACE = 'Traceback (most recent call last):\n  File "/w/train.py", line 3, in main\n    go()\n'
NCCL = "ProcessGroupNCCL.cpp"
DONE = (
    "100%|##########| 300/300 [1:00:00<00:00, 12.0s/it]\n"
    "Saving model checkpoint to /w/out/checkpoint-300\n"
    "{'train_runtime': 3600.1, 'train_loss': 0.4, 'epoch': 3.0}\n"
)
SHM = "INFO 07-01 10:00:00 [shm_broadcast.py:501] No available shared memory broadcast block found in 60 seconds.\n"
WALL = "slurmstepd: error: *** JOB 99 ON n01 CANCELLED AT 2026-07-01T10:00:00 DUE TO TIME LIMIT ***\n"


def first(text: str) -> Cause | None:
    chunk = Chunk(text.encode(), 0)
    matchers = prepare(policy().patterns)
    return first_cause([read_causes(chunk, tracebacks(chunk), matchers, "/w/a.out", ZoneInfo("UTC"), UNTIL)])


def kind(text: str) -> str | None:
    found = first(text)
    return None if found is None else found.type


def logged(where: str, text: str) -> str:
    """The text as the records of a logger, a line each."""
    return "".join(f"ERROR 07-01 10:05:01 [{where}] {line}\n" for line in text.splitlines())


COLLECTIVES = {
    "a peer's signal comes first": (
        f"[rank0]:[E701 10:00:00.2 {NCCL}:1743] [PG ID 0 PG GUID 0(default_pg) Rank 0] Received a dump signal due to a"
        " collective timeout from  rank 6 and we will try our best to dump the debug info.\n"
        f"[rank0]:[E701 10:00:00.3 {NCCL}:1533] [PG ID 0 Rank 0] ProcessGroupNCCL preparing to dump debug info.\n",
        "nccl-peer-timeout",
    ),
    "the end of a rank is printed before the timeout of another": (
        f"[rank3]:[F701 10:00:00.5 {NCCL}:1553] [Rank 3] Terminating the process after attempting to dump debug info\n"
        f"[rank5]:[E701 09:59:59.5 {NCCL}:632] [Rank 5] Watchdog caught collective operation timeout: WorkNCCL("
        "SeqNum=9, OpType=ALLGATHER, NumelIn=1, Timeout(ms)=600000) ran for 600012 milliseconds before timing out.\n",
        "nccl-timeout",
    ),
    "an error of the library itself": (
        "[rank1]: " + TRACE.replace("\n", "\n[rank1]: ") + "torch.distributed.DistBackendError: NCCL error in: "
        "/x/NCCLUtils.cpp:93, unhandled cuda error (run with NCCL_DEBUG=INFO for details), NCCL version 2.26.2\n",
        "DistBackendError",
    ),
}
ENGINES = {
    "the client tells of the core": (
        "(APIServer pid=5) ERROR 07-01 10:00:01 [core_client.py:598] Engine core proc EngineCore_DP0 died unexpectedly,"
        " shutting down client.\n",
        "engine-worker-died",
    ),
    "its own words come behind the report": (
        logged(
            "core.py:710", "EngineCore encountered a fatal error.\n" + TRACE + "AcceleratorError: CUDA error: assert"
        )
        + logged("async_llm.py:480", TRACE + "vllm.v1.engine.exceptions.EngineDeadError: EngineCore had an issue."),
        "AcceleratorError",
    ),
    "the memory of a worker ends before its death is told": (
        logged("multiproc_executor.py:154", "Worker proc VllmWorker-3 died unexpectedly, shutting down executor.")
        + "slurmstepd: error: Detected 1 oom_kill event in StepId=99.0. Some of the step tasks have been OOM Killed.\n",
        "cgroup-oom",
    ),
    "shared memory alone": (SHM * 3, None),
    "shared memory with company": (
        SHM * 3
        + logged("core.py:710", "EngineCore encountered a fatal error.")
        + logged("core.py:710", TRACE + "TimeoutError: RPC call to sample_tokens timed out."),
        "engine-rpc",
    ),
}
RAY = {
    "causes that might be, over lines": (
        "(raylet) The node with node id: ab and address: 10.0.0.1 has been marked dead. This can happen when a \n"
        "\t(1) raylet crashes unexpectedly (OOM, Segmentation fault, etc.)\n\t(2) raylet has lagging heartbeats\n",
        None,
    ),
    "causes that might be, in the same line": (
        "(raylet) A worker died or was killed while executing a task by an unexpected system error. Worker exit detail:"
        " End of file. Some common causes include: (1) OOMKilled, (3) received SIGSEGV.\n",
        "ray-worker-died",
    ),
    "the raylet of a task": ("ray.exceptions.LocalRayletDiedError: The task's local raylet died.\n", "raylet-died"),
    "the owner of an object": (
        TRACE + "ray.exceptions.OwnerDiedError: Failed to retrieve object ab.\nThe object's owner has exited.\n",
        "OwnerDiedError",
    ),
    "the node": (TRACE + "ray.exceptions.NodeDiedError: Task failed due to the node was dead.\n", "NodeDiedError"),
}
MEMORY = {
    "of the host, by the kernel": ("n01 kernel: Out of memory: Killed process 991 (python)\n", "kernel-oom"),
    "of the host, by a library": (
        TRACE + "numpy._core._exceptions._ArrayMemoryError: Unable to allocate 30.0 GiB\n",
        "_ArrayMemoryError",
    ),
    "of a group, killed at the wall": (WALL + "slurmstepd: error: Detected 1 oom_kill event in StepId=99.0.\n", None),
    "of a GPU, by a library of NCCL": (
        "n01:9:9 [3] misc/cudawrap.cc:36 NCCL WARN Cuda failure 2 'out of memory'\n",
        "cuda-oom-driver",
    ),
    "a child of a loader": (TRACE + "RuntimeError: DataLoader worker (pid 9) is killed by signal: Killed. \n", None),
}
QUOTA = {
    "a shell": ("/w/run.sh: line 12: echo: write error: Disk quota exceeded\n", "quota-exceeded"),
    "a serializer": (
        TRACE + "safetensors_rust.SafetensorError: Error while serializing: IoError(Os { code: 122, kind: "
        'FilesystemQuotaExceeded, message: "Disk quota exceeded" })\n',
        "quota-exceeded",
    ),
}
ENDS = {
    "the wall and its fallout": (WALL + TRACE + "KeyboardInterrupt\n", None),
    "a preemption and an error behind it": (WALL.replace("TIME LIMIT", "PREEMPTION") + TRACE + "ValueError: x\n", None),
    "a key that is refused": ("git@github.com: Permission denied (publickey).\n", "publickey-denied"),
    "a certificate of a server": (
        TRACE + "requests.exceptions.SSLError: Max retries exceeded (Caused by SSLError(SSLCertVerificationError(1, "
        "'certificate has expired')))\n",
        "SSLError",
    ),
    "a launcher and nothing below it": (TRACE + "subprocess.CalledProcessError: Command 'x' returned 1.\n", None),
    "another launcher, and a signal": (
        "[ERROR] [launch.py:325:sigkill_handler] ['/opt/python'] exits with return code = -11\n",
        "launched-crashed",
    ),
    "a task that was aborted": ("srun: error: n01: task 3: Aborted (core dumped)\n", "process-aborted"),
    "a heap that broke": (
        "free(): invalid pointer\nrun.sh: line 8: 99 Aborted   (core dumped)\n",
        "process-aborted",
    ),
    "a crash in C++ of which only the stack is there": (
        "Exception raised from create_event_internal at /x/CUDAGuardImpl.h:42 (most recent call first):\n",
        "c10::Error",
    ),
    "an upload behind the end": (DONE + TRACE + "HfHubHTTPError: 504 Server Error: Gateway Time-out\n", "teardown"),
}
SAMPLES = {
    f"{what}: {name}": sample
    for what, samples in (
        ("a collective", COLLECTIVES),
        ("an engine", ENGINES),
        ("Ray", RAY),
        ("memory", MEMORY),
        ("a quota", QUOTA),
        ("an end", ENDS),
    )
    for name, sample in samples.items()
}


@pytest.mark.parametrize(("text", "wanted"), SAMPLES.values(), ids=SAMPLES)
def test_the_cause_is_read_in_other_wordings(text: str, wanted: str | None) -> None:
    assert kind(text) == wanted


def test_an_operation_that_timed_out_on_many_ranks_is_one_event() -> None:
    found = first(
        "".join(
            f"[rank{rank}]:[E701 10:0{7 - rank}:00.1 {NCCL}:632] [Rank {rank}] Watchdog caught collective operation "
            f"timeout: WorkNCCL(SeqNum=77, OpType=ALLREDUCE, NumelIn=1, Timeout(ms)=600000) ran for 6{rank}0012 "
            "milliseconds before timing out.\n"
            for rank in range(8)
        )
    )
    assert found is not None
    assert (found.type, found.rank, found.ranks) == ("nccl-timeout", 7, tuple(range(8)))


WATCHDOG = "Process group watchdog thread terminated with exception: CUDA error: an illegal memory access"


@pytest.mark.parametrize("between", ["", "[rank1]: x\n", "\x1b[31m(APIServer pid=5) INFO\x1b[0m go\n" * 3])
@pytest.mark.parametrize("before", ["", "\x1b[31mred\x1b[0m\n" * 40])
def test_a_cpp_exception_says_what_it_is(before: str, between: str) -> None:
    thrown = "terminate called after throwing an instance of 'c10::DistBackendError'"
    found = first(f"{before}{thrown}\n{between}  what():  [Rank 2] {WATCHDOG}\nFatal Python error: Aborted\n")
    assert found is not None
    assert (found.type, found.message) == ("cpp-terminate", f"{thrown}: [Rank 2] {WATCHDOG}")


def test_what_stands_far_behind_a_cpp_exception_is_of_another() -> None:
    thrown = "terminate called after throwing an instance of 'std::bad_alloc'"
    found = first(f"{thrown}\n" + "x\n" * 9 + "  what():  another\n")
    assert found is not None
    assert found.message == thrown
