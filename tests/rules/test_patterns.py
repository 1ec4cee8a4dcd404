"""The shipped patterns against lines as programs print them: what each means, and what it must not be taken for."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import pytest

from sweeprules.collectors.logs.lines import Chunk
from sweeprules.collectors.logs.scan import prepare, scan
from tests.rules.shipped import policy

UTC = ZoneInfo("UTC")


def log(*lines: str) -> Chunk:
    """A log of these lines."""
    return Chunk("".join(f"{line}\n" for line in lines).encode(), 0)


BAR = "|█▍        |"

LINES = [
    ("rl-train-metrics", 'WANDB_MIRROR kind=train step=41 metrics={"trainer/global_step": 41}'),
    ("rl-step-bar", f"Training Step Progress:  14%{BAR} 11/80 [5:12:44<32:41:10, 1705.4s/it]"),
    ("rl-step-bar", "Training Step Progress: 41/300"),
    ("rl-batch-bar", f"Training Batches Processed:  14%{BAR} 11/80 [5:12<32:41, 1.4s/it]"),
    ("rl-buffer-bar", f"Generation Buffer Progress:  55%{BAR} 35/64 [21:10<17:32, 36.3s/it, buffer qsize=0]"),
    ("rl-console-step", " 'trainer/global_step': 12}"),
    ("rung-revision", "MarinSkyRL now at 0c77aa1"),
    ("rung-staging", "Staging train_data on this node (rank 0/4)"),
    ("rung-nodes", "Ray nodes alive: 4/4"),
    ("rung-nodes", "All 4 Ray node(s) joined"),
    ("rung-mesh", "Device mesh built over 32 ranks"),
    ("rung-weights", "INFO Loading weights took 71.3 seconds"),
    ("rung-engine", "Engine 001: Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: 12.5 tokens/s"),
    ("rung-trainer", "Resumed training from global_step 40"),
    ("sft-train-row", "{'loss': 4.75, 'grad_norm': 98.5, 'learning_rate': 5e-06, 'epoch': 1.0}"),
    ("sft-train-row", "{'loss': '0', 'grad_norm': 'nan', 'learning_rate': '0', 'epoch': '0.1'}"),
    ("trial-mean", " 142/300 Mean: 0.211 ━━━━━━━━━━━╺━━━━ 3:12:40 3:33:02"),
    ("eval-request-bar", f"Running generate_until requests:   5%{BAR} 1/20 [00:03<01:00,  3.16s/it]"),
    ("eval-prompt-bar", f"Processed prompts:  50%{BAR} 10/20 [00:03<00:03,  3.16it/s]"),
    ("eval-results-saved", "INFO [loggers.evaluation_tracker:247] Saving results aggregated"),
    ("agent-generator", "INFO TerminalBenchGenerator ready"),
    ("trace-tree", "writing to /w/run/run/trace_jobs/t__a1"),
    ("errno-122", "OSError: [Errno 122] Disk quota exceeded: '/w/ckpt'"),
    ("quota-exceeded", "cp: error writing '/w/ckpt': Disk quota exceeded"),
    ("publickey-denied", "user@login: Permission denied (publickey,gssapi-with-mic)."),
    ("cuda-oom", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."),
    ("cuda-oom-driver", "RuntimeError: CUDA error: out of memory"),
    ("cgroup-oom-kernel", "Memory cgroup out of memory: Killed process 7 (python)"),
    ("step-oom", "srun: error: n1: task 3: Out Of Memory"),
    ("memory-limit", "slurmstepd: error: Exceeded job memory limit"),
    ("cgroup-oom", "slurmstepd: error: Detected 1 oom_kill event in StepId=7.batch."),
    ("cgroup-oom", "slurmstepd: error: Detected 2 oom-kill event(s) in StepId=7.0 cgroup."),
    ("ray-oom", "Task was killed due to memory pressure (OOM)"),
    ("ray-oom-error", "ray.exceptions.OutOfMemoryError: Task was killed"),
    ("ray-killed-worker", "Ray killed this worker (ID: 7) because it was the last one"),
    ("errno-12", "OSError: [Errno 12] Cannot allocate memory"),
    ("container-oom", "reason: OOMKilled"),
    ("kernel-oom", "n01 kernel: Out of memory: Killed process 991 (python) total-vm:1kB"),
    ("launched-killed", "[launch.py:325] ['/opt/python'] exits with return code = -9"),
    ("rank-killed", "  exitcode  : -9 (pid: 4711)"),
    ("raylet-died", "The raylet died while the task was running"),
    ("raylet-died", "Raylet process has died"),
    ("actor-died", "ray.exceptions.ActorDiedError: The actor died unexpectedly"),
    ("worker-crashed", "ray.exceptions.WorkerCrashedError: The worker died unexpectedly"),
    ("ray-actor-error", "ray.exceptions.RayActorError: The actor died unexpectedly"),
    ("ray-worker-died", "(raylet) A worker died or was killed while executing a task by an unexpected system error."),
    ("ray-task-error", "ray.exceptions.RayTaskError(ValueError): ray::run()"),
    ("engine-dead", "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue."),
    ("engine-fatal", "ERROR EngineCore encountered a fatal error."),
    ("engine-core-died", "RuntimeError: EngineCore died unexpectedly."),
    ("engine-rpc", "TimeoutError: RPC call to execute_model timed out."),
    ("engine-rpc", "TimeoutError: RPC call to sample_tokens timed out."),
    ("engine-worker-died", "ERROR Engine core proc EngineCore_DP0 died unexpectedly, shutting down client."),
    ("engine-worker-died", "ERROR Worker proc VllmWorker-3 died unexpectedly, shutting down executor."),
    ("nccl-peer-timeout", "[Rank 1] Received a dump signal due to a collective timeout from rank 3"),
    ("nccl-monitor", "[E] [Rank 3] Heartbeat monitor timed out! Process will be terminated after dumping debug info."),
    ("engine-unanswered", "ERROR 07-01 12:00:00 [core.py:7]     raise TimeoutError"),
    (
        "nccl-timeout",
        "[Rank 3] WorkNCCL(SeqNum=9, OpType=ALLGATHER, Timeout(ms)=1800000) ran for 1800077 milliseconds before",
    ),
    ("nccl-watchdog", "[rank3]:[E] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=9)"),
    ("nccl-dump", "ProcessGroupNCCL preparing to dump debug info. Include stack trace: 1"),
    ("nccl-terminate", "[F] Terminating the process after attempting to dump debug info, due to ProcessGroupNCCL"),
    ("sigabrt", "Fatal: received SIGABRT"),
    ("process-aborted", "srun: error: n01: task 3: Aborted (core dumped)"),
    ("launched-aborted", "[launch.py:325] ['/opt/python'] exits with return code = -6"),
    ("launched-crashed", "[launch.py:325] ['/opt/python'] exits with return code = -11"),
    ("python-abort", "Fatal Python error: Aborted"),
    ("cpp-terminate", "terminate called after throwing an instance of 'c10::Error'"),
    ("sigsegv", "traceback : Signal 11 (SIGSEGV) received by PID 7"),
    ("segfault", "Fatal Python error: Segmentation fault"),
    ("train-loop-failed", "ERROR Train loop failed after step 3"),
    ("hydra-exception", "hydra.errors.HydraException: Could not override 'x.y'."),
    ("not-in-struct", "Key 'y' is not in struct"),
    ("parquet-missing", "FileNotFoundError: [Errno 2] No such file or directory: '/c/tok/00001.parquet'"),
    ("errno-13", "PermissionError: [Errno 13] Permission denied: '/w/jobs/a'"),
    (
        "port-clash",
        "ValueError: Ray component worker_ports is trying to use a port number 10003 that is used by others",
    ),
    ("ray-cold-start", "Ray cluster did not reach desired resources within 600 seconds"),
    ("snapshot-cap", "daytona.SnapshotCapExceeded: 60 of 60"),
    ("triton-cache-missing", "/var/spool/slurm/job7/script: line 9: /w/triton_cache.sh: No such file or directory"),
    ("workdir-not-root", "FATAL: WORKDIR=/home/a is not the OpenThoughts-Agent repo root"),
    ("elastic-table", "Root Cause (first observed failure):"),
    ("elastic-summary", "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:"),
    ("rendezvous-error", "torch.distributed.DistNetworkError: The client socket has failed to connect"),
    ("rendezvous-error", "RendezvousConnectionError: The connection to the C10d store has failed"),
    ("sandbox-auth", "DaytonaAuthenticationError: Failed to create sandbox: Bearer token invalid"),
    ("wall-hit", "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-07-01T12:00:00 DUE TO TIME LIMIT ***"),
    ("shm-wait", "INFO [shm_broadcast.py:466] No available shared memory broadcast block found in 600 seconds."),
    ("engine-idle", "Engine 000: Avg generation throughput: 0.0 tokens/s, Running: 0 reqs, Waiting: 0 reqs"),
    ("watchdog-stuck", "[W] ProcessGroupNCCL's watchdog got stuck for 480 seconds without making progress"),
    ("nccl-opcount", "NCCL INFO AllReduce: opCount dead sendbuff 0x7f recvbuff 0x7f"),
    ("prob-diff-mean", "rollout_train_prob_diff_mean: 14200000.0"),
    ("agent-timeout", "Trial t__a1 failed: AgentTimeoutError"),
    ("context-length", "ContextLengthExceededError: too long"),
    ("context-overrun", "BadRequest: 32769 input tokens > 32768 max"),
    ("litellm-timeout", "litellm.Timeout: APITimeoutError"),
    ("host-key-changed", "@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @"),
    ("image-pull-backoff", "pod x: ImagePullBackOff"),
    ("scheduling-gated", "pod x: SchedulingGated"),
    ("weights-missing", "OSError: laion/x does not appear to have a file named model.safetensors"),
    ("vllm-env", "WARNING Unknown vLLM environment variable detected: VLLM_X"),
    ("nccl-net-plugin", "NCCL INFO NET/Plugin: Could not find: libnccl-net.so"),
    ("tokenize-index", '"POST /tokenize HTTP/1.1" 500 IndexError: list index out of range'),
    ("home-read-only", "OSError: [Errno 30] Read-only file system: '/leonardo/home/a/.config/vllm'"),
    ("db-entry-finished", "Failed to create Pending DB entry: Job already finished"),
    ("ray-root-causes", "There are some potential root causes. (1) The process is killed by SIGKILL by OOM killer"),
]

TRAPS = [
    (
        "the first frame of a resumed run is no step",
        f"Training Step Progress:  14%{BAR} 11/80 [00:00<?, ?it/s]",
        "rl-step-bar",
    ),
    ("step 0 is no step", f"Training Step Progress:   0%{BAR} 0/80 [00:10<10:00, 1s/it]", "rl-step-bar"),
    ("the start of a run is no step", "WANDB_MIRROR kind=startup step=0 metrics={}", "rl-train-metrics"),
    ("an evaluation pass is no step", "WANDB_MIRROR kind=eval step=40 metrics={}", "rl-train-metrics"),
    ("a loss in an evaluation row", "{'eval_loss': 1.9, 'epoch': 1.0}", "sft-train-row"),
    ("a packing bar", f"Tokenizing: 100%{BAR} 555519/555519 [10:00<00:00, 900it/s]", "eval-request-bar"),
    ("no trial is done", " 0/300 Mean: 0.0 ━━━ 0:00:10", "trial-mean"),
    ("an operation count is no dead engine", "NCCL INFO AllReduce: opCount dead sendbuff 0x7f", "engine-dead"),
    (
        "what Ray lists as possible is no memory error",
        "killed by SIGKILL by OOM killer due to high memory usage",
        "ray-oom",
    ),
    ("nor a memory kill of the cgroup", "killed by SIGKILL by OOM killer due to high memory usage", "cgroup-oom"),
    (
        "nor a segmentation fault",
        "(3) The worker is crashed unexpectedly due to SIGSEGV or other unexpected errors",
        "sigsegv",
    ),
    ("a serving engine is not idle", "Engine 000: Running: 28 reqs, Waiting: 0 reqs", "engine-idle"),
    ("ten requests are not none", "Engine 000: Running: 10 reqs, Waiting: 0 reqs", "engine-idle"),
    ("a trial that timed out is no dead engine", "Agent execution timed out after 1800.0 seconds", "engine-rpc"),
    ("another missing file", "FileNotFoundError: [Errno 2] No such file or directory: 'x.json'", "parquet-missing"),
    ("the cache script is only named", "source /w/triton_cache.sh", "triton-cache-missing"),
    ("an open raylet", "Starting raylet on node 3", "raylet-died"),
    (
        "what a broken communicator asks for",
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate more than 1EB memory.",
        "cuda-oom",
    ),
    ("an abort that is only spoken of", "INFO the watchdog raises SIGABRT after 600 s", "sigabrt"),
    ("a rank that was told to go", "  exitcode  : -15 (pid: 4711)", "rank-killed"),
]


def _matched(text: str) -> set[str]:
    return set(scan(log(text), prepare(policy().patterns), UTC).counts)


@pytest.mark.parametrize(("name", "text"), LINES)
def test_a_line_is_read_for_what_it_is(name: str, text: str) -> None:
    assert name in _matched(text)


@pytest.mark.parametrize(("name", "text"), LINES)
def test_the_line_of_one_meaning_is_no_fault_of_another(name: str, text: str) -> None:
    patterns = policy().patterns
    if patterns[name].kind in ("benign", "progress"):
        assert {other for other in _matched(text) if patterns[other].kind == "fault"} == set()


@pytest.mark.parametrize(("case", "text", "name"), TRAPS, ids=[case for case, _, _ in TRAPS])
def test_a_line_is_not_taken_for_what_it_is_not(case: str, text: str, name: str) -> None:
    assert name not in _matched(text), case


def test_every_pattern_has_a_line() -> None:
    assert {name for name, _ in LINES} == set(policy().patterns)


def test_benign_patterns_say_what_they_never_mean() -> None:
    assert [p.name for p in policy().patterns.values() if p.kind == "benign" and not p.never_means] == []


def test_heartbeats_after_a_step_are_told_from_work() -> None:
    step = 'WANDB_MIRROR kind=train step=41 metrics={"rollout_train_prob_diff_mean": 1e9}'
    wait = "INFO No available shared memory broadcast block found in 600 seconds."
    matchers = prepare(policy().patterns)
    assert scan(log(step, wait, wait), matchers, UTC).heartbeats_only is True
    assert scan(log(wait, step), matchers, UTC).heartbeats_only is False
