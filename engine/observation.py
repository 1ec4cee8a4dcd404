"""What was asked of a cluster, and what came back."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Failure(StrEnum):
    """Why a command has no trustworthy answer; `NONE` when its frame arrived whole."""

    NONE = ""
    CONNECT = "connect"
    """The login could not be reached: refused, timed out, no route, garbage for a banner."""
    AUTH = "auth"
    HOST_KEY = "host-key"
    FORK = "fork"
    """The login answered but could not start a process (exit 254 or 127, fork unavailable)."""
    TIMEOUT = "timeout"
    """The command's own deadline passed; what had arrived is kept and marked cut."""
    DEADLINE = "deadline"
    """The cluster's or the sweep's deadline passed before it was sent or answered."""
    UNFRAMED = "unframed"
    """The call ended without this command's closing frame."""
    NOT_RECORDED = "not-recorded"
    """A replay was asked for something that the cassette does not hold."""


@dataclass(frozen=True, slots=True)
class Observation:
    """One command (or file read) and its answer, as kept in a cassette.

    `id` is unique in a sweep and the same at each replay (`cluster/round.position`). Times are epoch seconds on the
    clock of the machine that sweeps; `remote_clock` is the cluster's own, read in the same call, None when unread.
    `exit` is None when the closing frame never arrived. `stdout` and `stderr` are masked bytes, the command's own:
    text outside its frame (a login banner) is in `noise`. `cut` counts the bytes of stdout that were dropped.
    """

    id: str
    cluster: str
    login: str
    argv: tuple[str, ...]
    items: tuple[str, ...]
    """What went by standard input to `xargs -0`; empty for a plain command."""
    started_at: float
    duration: float
    exit: int | None
    stdout: bytes
    stderr: bytes
    noise: bytes = b""
    cut: int = 0
    failure: Failure = Failure.NONE
    detail: str = ""
    """One masked line for people about a failure: what the transport said."""
    remote_clock: float | None = None

    @property
    def answered(self) -> bool:
        """True when the frame is whole: exit status, stdout and stderr are the command's own."""
        return self.failure is Failure.NONE and self.exit is not None

    @property
    def clean(self) -> bool:
        """True when answered with exit 0 and an empty stderr."""
        return self.answered and self.exit == 0 and not self.stderr.strip()

    def text(self) -> str:
        """Stdout as text; bytes that are not UTF-8 become U+FFFD."""
        return self.stdout.decode("utf-8", "replace")
