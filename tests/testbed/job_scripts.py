"""The batch scripts that the jobs run; their first argument, where they take one, is a number of seconds."""

from __future__ import annotations

from pathlib import Path

from tests.testbed.layout import Layout

#: A training log's shape: one line a second unless told otherwise, until it is cancelled.
_STEADY = """\
#!/bin/bash
every=${1:-1}
step=0
echo "Total training steps: 100000"
while :; do
    step=$((step + 1))
    ratio='"log_ratio_abs_mean": 0.01, "log_ratio_abs_max": 0.3'
    policy='"policy_entropy": 0.5, "policy_loss": 0.01, "raw_grad_norm": 0.3'
    echo "WANDB_MIRROR kind=train step=$step metrics={$ratio, $policy}"
    sleep "$every"
done
"""
_SILENT = """\
#!/bin/bash
echo "Loading checkpoint shards"
exec sleep 864000
"""
_SLEEP = """\
#!/bin/bash
echo "started on $(hostname)"
exec sleep "${1:-86400}"
"""
_OK = """\
#!/bin/bash
echo "working"
sleep "${1:-1}"
echo "done"
"""
_FAIL = """\
#!/bin/bash
cat >&2 <<'END'
Traceback (most recent call last):
  File "train.py", line 88, in <module>
    main()
RuntimeError: loss is not finite
END
exit 1
"""
_OOM = """\
#!/bin/bash
echo "filling memory"
exec python3 -c 'held = [bytearray(64 << 20) for _ in range(40)]; print(len(held))'
"""
_SEGV = """\
#!/bin/bash
echo "about to crash"
kill -SEGV $$
"""
#: An array task: number 5 fails with exit status 3.
_CHUNK = """\
#!/bin/bash
echo "chunk $SLURM_ARRAY_TASK_ID"
sleep 1
if [ "$SLURM_ARRAY_TASK_ID" = 5 ]; then exit 3; fi
"""
#: The allocation ends well although one of its steps failed.
_STEP_FAILS = """\
#!/bin/bash
srun -n1 bash -c 'exit 7'
echo "the step's status was $?"
exit 0
"""
SCRIPTS = {
    "steady": _STEADY, "silent": _SILENT, "sleep": _SLEEP, "ok": _OK, "fail": _FAIL, "oom": _OOM, "segv": _SEGV,
    "chunk": _CHUNK, "step_fails": _STEP_FAILS,
}  # fmt: skip


def write_scripts(layout: Layout) -> Path:
    """Write all scripts into the test bed's jobs folder, where every user can run them; the folder."""
    folder = layout.root / "jobs"
    for name, text in SCRIPTS.items():
        path = folder / f"{name}.sh"
        path.write_text(text)
        path.chmod(0o755)
    return folder
