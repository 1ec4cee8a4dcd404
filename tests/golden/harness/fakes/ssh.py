"""A fake `ssh`: reads its options and the host as ssh does, then runs the command on this machine as that login.

`ssh.py WORLD OPTION... HOST COMMAND`. What the network does to a login is the scenario's; all else is a real shell.
"""

# pathlib takes longer to import than all the rest.
# ruff: noqa: PTH120, PTH123
from __future__ import annotations

import getopt
import json
import os
import sys
import time

from main import count, note, nth

MOTD = "\n*** Welcome. Maintenance on Tuesday. ***\nsqueue says: 0 jobs\nLast login: Fri Jul 10 from 10.0.0.7\n"
CHANGED = (
    "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@\n"
    "@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\n"
    "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@\n"
    "IT IS POSSIBLE THAT SOMEONE IS DOING SOMETHING NASTY!\r\nHost key verification failed.\n"
)
FORK = "bash: fork: retry: Resource temporarily unavailable\n" * 4 + "bash: fork: Resource temporarily unavailable\n"


def main() -> int:
    """Connects and becomes the command, or returns the status with which ssh fails."""
    world_path, *argv = sys.argv[1:]
    _, rest = getopt.getopt(argv, "F:o:l:p:i:J:S:TtxaqnvCNAf46")
    host, *command = rest
    with open(world_path, encoding="utf-8") as stream:
        world = json.load(stream)
    folder = os.path.dirname(world_path)
    place = world["logins"].get(host)
    note(folder, {"login": host, "cluster": place["cluster"] if place else None, "argv": ["ssh"]})
    if place is None:
        return said(f"ssh: Could not resolve hostname {host}: Name or service not known\n", 255)
    kind = nth(place["ssh"], count(folder, world["sweep"], host, ["ssh"]))
    name, _, value = kind.partition(":")
    failed = failure(name, host)
    if failed is not None:
        return failed
    if name == "slow":
        time.sleep(float(value))
    if name == "motd":
        sys.stdout.write(MOTD)
        sys.stdout.flush()
    os.environ["PATH"] = f"{folder}/logins/{host}:/usr/bin:/bin"
    return os.execv("/bin/sh", ["sh", "-c", " ".join(command)])


def failure(name: str, host: str) -> int | None:
    """The exit status of a connection that came to nothing; None when it works."""
    texts = {
        "refused": f"ssh: connect to host {host} port 22: Connection refused\n",
        "timeout": f"ssh: connect to host {host} port 22: Connection timed out\n",
        "banner-timeout": f"Connection timed out during banner exchange\nConnection to {host} port 22 timed out\n",
        "reset": "kex_exchange_identification: read: Connection reset by peer\n",
        "auth": f"alice@{host}: Permission denied (publickey).\n",
        "host-key": CHANGED,
    }
    if name in texts:
        return said(texts[name], 255)
    if name == "fork":
        return said(FORK, 254)
    if name == "no-shell":
        return said("bash: /bin/sh: command not found\n", 127)
    if name == "hang":
        time.sleep(120)
    if name == "garbage":
        sys.stdout.write("\x00\x1b]0;own\x07" * 50)
        return 0
    if name not in ("ok", "slow", "motd"):
        return said(f"fake ssh: nothing is called {name!r}\n", 97)
    return None


def said(text: str, status: int) -> int:
    """Prints on stderr; the status."""
    sys.stderr.write(text)
    return status


if __name__ == "__main__":
    sys.exit(main())
