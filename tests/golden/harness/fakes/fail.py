"""How each command fails on a real system: text, exit status, and how long it takes where that matters."""

from __future__ import annotations

import time

TIMED_OUT = "Socket timed out on send/recv operation"
NO_CONTACT = "Unable to contact slurm controller (connect failure)"
DOWN = (
    "Slurmctld(primary) at vm is DOWN\n*****************************************\n"
    "** RESTORE SLURMCTLD DAEMON TO SERVICE **\n*****************************************\n"
)
SPEAKERS = {
    "squeue": "slurm_load_jobs error: ",
    "scontrol": "slurm_load_jobs error: ",
    "sinfo": "slurm_load_partitions: ",
}
PERSIST_22 = "slurm_persist_conn_open_without_init"
PERSIST_24 = "_open_persist_conn"

Printed = tuple[str, str, int]


def answer(kind: str, program: str, argv: list[str], version: tuple[int, ...], healthy: Printed) -> Printed:
    """What a command prints under one kind of failure; `healthy` is what it would print else."""
    name, _, value = kind.partition(":")
    match name:
        case "ok":
            return healthy
        case "socket-timeout" | "connect-failure":
            return _controller(program, argv, TIMED_OUT if name == "socket-timeout" else NO_CONTACT, healthy)
        case "no-database" | "database-hung":
            return _database(program, name, version, healthy)
        case "errors-with-exit-0":
            return "", f"slurm_load_jobs error: {TIMED_OUT}\n", 0
        case "error-on-stdout":
            return f"slurm_load_jobs error: {TIMED_OUT}\n", "", 0
        case "empty":
            return "", "", 0
        case "fork":
            return (
                "",
                "bash: fork: retry: Resource temporarily unavailable\nbash: fork: Resource temporarily unavailable\n",
                254,
            )
        case "not-found":
            return "", f"/bin/sh: 1: {program}: not found\n", 127
        case "slow":
            time.sleep(float(value))
            return healthy
        case "hang":
            time.sleep(120)
        case "killed-midway":
            return healthy[0][: len(healthy[0]) // 2], "Killed\n", 137
    raise SystemExit(f"fake {program}: no failure is called {kind!r}")


def _controller(program: str, argv: list[str], text: str, healthy: Printed) -> Printed:
    """The controller is dead or hung: accounting and `sinfo -V` do not notice."""
    if program == "sacct" or argv == ["-V"]:
        return healthy
    if argv == ["ping"]:
        return DOWN, "", 1
    return "", f"{SPEAKERS[program]}{text}\n", 1


def _database(program: str, kind: str, version: tuple[int, ...], healthy: Printed) -> Printed:
    """The database daemon is dead or hung: only accounting notices."""
    if program != "sacct":
        return healthy
    if kind == "database-hung":
        first, cause = "slurm_persist_conn_open: No response to persist_init", "Resource temporarily unavailable"
    else:
        who = PERSIST_22 if version < (24, 5) else PERSIST_24
        cause = "Connection refused"
        first = f"{who}: failed to open persistent connection to host:127.0.0.1:16819: {cause}"
    lines = (first, f"Sending PersistInit msg: {cause}", f"Problem talking to the database: {cause}")
    return "", "".join(f"sacct: error: {line}\n" for line in lines), 1
