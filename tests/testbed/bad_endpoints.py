"""Hosts that are no ssh servers: one refuses, one accepts and is silent, one talks garbage, one drips lines and closes.

Run as a program: `python -m tests.testbed.bad_endpoints REFUSE HANG NOISE DRIP`, each a port on loopback.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from pathlib import Path

from tests.testbed.layout import BAD_ENDPOINTS, Layout
from tests.testbed.processes import start_in_background, wait_until

_REPO = Path(__file__).resolve().parents[2]
_GARBAGE = b"HTTP/1.1 502 Bad Gateway\r\n\r\n<html>the gateway has no login node</html>\r\n" * 3


def start(layout: Layout) -> None:
    """Start the four endpoints of a test bed in one background process and wait until they listen."""
    ports = [str(layout.ports[name]) for name in BAD_ENDPOINTS]
    start_in_background(
        [sys.executable, "-m", "tests.testbed.bad_endpoints", *ports],
        env={**layout.environment(), "PYTHONPATH": str(_REPO)},
        log=layout.log / "bad-endpoints.log",
        pid_file=layout.pid_file("bad-endpoints"),
    )
    wait_until("the bad endpoints to listen", lambda: _listens(layout.ports["drip01"]))


async def _hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while await reader.read(1024):
        pass
    writer.close()


async def _noise(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(_GARBAGE)
    await writer.drain()
    await asyncio.sleep(0.2)
    writer.close()


async def _drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    for number in range(5):
        writer.write(f"*** maintenance notice, line {number} ***\r\n".encode())
        await writer.drain()
        await asyncio.sleep(0.5)
    writer.close()


async def _serve(refuse: int, hang: int, noise: int, drip: int) -> None:
    # Bound but not listening: a connect is refused, and no other program can take the port.
    reserved = socket.socket()
    reserved.bind(("127.0.0.1", refuse))
    handlers = ((_hang, hang), (_noise, noise), (_drip, drip))
    servers = [await asyncio.start_server(handler, "127.0.0.1", port) for handler, port in handlers]
    await asyncio.gather(*(server.serve_forever() for server in servers))


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


if __name__ == "__main__":
    asyncio.run(_serve(*(int(word) for word in sys.argv[1:5])))
