"""The text that a login's shell is given: made from argument lists alone, the same for every transport.

It goes to `/bin/sh -s` by standard input, so no length limit of one argument applies, a login shell of any kind only
sees `exec /bin/sh -s`, and no path stands in a process list. It is one brace group: a text that was cut on its way is a
syntax error, and runs nothing. Each command writes between an opening and a closing marker on standard output, and
again on standard error; the markers hold a random word of this call, so no output can imitate them.
"""

from __future__ import annotations

import math
import secrets
import shlex
from collections.abc import Sequence

from sweeprules.collectors.transport.allow import AllowList
from sweeprules.collectors.transport.command import Command

REMOTE_SHELL = "exec /bin/sh -s"
"""What ssh asks of the login shell; sh, csh and fish read it alike."""
MAX_STDERR = 16 * 1024
"""Bytes of standard error kept a command: errors are told in their first lines."""
CLOCK = Command(("date", "+%s"), timeout=10.0, max_bytes=64)
"""Stands before and after every batch, so that ages are reckoned on the cluster's own clock."""

# Variables by which a person's login could change what the tools print or list: a queue filter would be a false drain.
_UNSET = (
    "SQUEUE_ACCOUNT SQUEUE_ALL SQUEUE_ARRAY SQUEUE_FEDERATION SQUEUE_FORMAT SQUEUE_FORMAT2 SQUEUE_LICENSES "
    "SQUEUE_LOCAL SQUEUE_NAMES SQUEUE_PARTITION SQUEUE_PRIORITY SQUEUE_QOS SQUEUE_RESERVATION SQUEUE_SIBLING "
    "SQUEUE_SORT SQUEUE_STATES SQUEUE_USERS SACCT_FEDERATION SACCT_FORMAT SACCT_LOCAL SINFO_ALL SINFO_FORMAT "
    "SINFO_PARTITION SINFO_SORT SINFO_STATES SCONTROL_ALL SCONTROL_FEDERATION SCONTROL_LOCAL SCONTROL_SIBLING "
    "SLURM_TIME_FORMAT GREP_OPTIONS GREP_COLOR GREP_COLORS BLOCK_SIZE BLOCKSIZE DF_BLOCK_SIZE LS_BLOCK_SIZE LS_COLORS "
    "QUOTING_STYLE TIME_STYLE TABSIZE POSIXLY_CORRECT GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_EXTERNAL_DIFF GIT_TRACE "
    "GIT_CONFIG GIT_CONFIG_PARAMETERS"
)

# `git status` would run a file-system monitor or a hook that the clone's configuration names.
_EXPORT = (
    "LC_ALL=C GIT_OPTIONAL_LOCKS=0 GIT_TERMINAL_PROMPT=0 GIT_CONFIG_COUNT=2 GIT_CONFIG_KEY_0=core.fsmonitor "
    "GIT_CONFIG_VALUE_0=false GIT_CONFIG_KEY_1=core.hooksPath GIT_CONFIG_VALUE_1=/dev/null"
)

# r INDEX HEAD_OR_TAIL STDOUT_LIMIT STDERR_LIMIT SECONDS PROGRAM [ARGUMENT...]
# Status, stdout and stderr leave the command by three pipes; the status is known once both readers have ended. What is
# complained beyond the limit is swallowed, not refused: a broken pipe on stderr would end a command with good output.
_PRELUDE = """\
export %(export)s
unset %(unset)s
exec 5>&1 6>&2
t=
r() {
i=$1 w=$2 o=$3 e=$4 k=$5
shift 5
printf '\\n@%%s o %%s\\n' "$n" "$i"
printf '\\n@%%s o %%s\\n' "$n" "$i" >&2
if [ -n "$t" ] && [ "$k" != 0 ]; then set -- timeout -k 2 "$k" "$@"; else set -- command "$@"; k=0; fi
s=$({ { { "$@" 3>&- 4>&- 5>&- 6>&-; echo "$?" >&3; } 2>&4 | "$w" -c "$o" >&5; } 4>&1 |
{ head -c "$e" >&6; cat >/dev/null; }; } 3>&1)
printf '\\n@%%s c %%s %%s %%s\\n' "$n" "$i" "${s:-x}" "$k"
printf '\\n@%%s c %%s\\n' "$n" "$i" >&2
}
if timeout -k 1 9 true </dev/null >/dev/null 2>&1; then t=1; fi
"""


def nonce() -> str:
    """A word that no output holds: 128 random bits in hexadecimal."""
    return secrets.token_hex(16)


def framed(batch: Sequence[Command]) -> tuple[Command, ...]:
    """The batch with the clock before and after it: what one call really runs."""
    return (CLOCK, *batch, CLOCK)


def script(batch: Sequence[Command], word: str, allowed: AllowList) -> bytes:
    """The shell text for `batch`, whose frames are numbered from 0; raises `CommandRefusedError`.

    `word` is the call's nonce. A command's timeout is kept by the login where it has a `timeout` that takes `-k`.
    """
    for command in batch:
        allowed.check(command)
    lines = ["{", f"n={word}", _PRELUDE % {"export": _EXPORT, "unset": _UNSET}]
    lines += [_line(index, command) for index, command in enumerate(batch)]
    lines += ["exit 0", "}", ""]
    return "\n".join(lines).encode("utf-8", "surrogateescape")


def _line(index: int, command: Command) -> str:
    seconds = 0 if command.timeout is None else max(1, math.ceil(command.timeout))
    # One byte more than is kept proves that something was dropped.
    reader = "tail" if command.keep == "end" else "head"
    call = f"r {index} {reader} {command.max_bytes + 1} {MAX_STDERR} {seconds} {shlex.join(command.argv)}"
    if not command.items:
        return f"{call} </dev/null"
    return f"printf '%s\\0' {shlex.join(command.items)} | {call}"
