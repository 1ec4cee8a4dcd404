"""A YAML language server as an editor drives it: over its standard streams, one question at a time."""

from __future__ import annotations

import json
import selectors
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

VERSION = "2.0.0"
"""Of the package yaml-language-server; the one that the common editors' extensions bring."""
_PATIENCE = 60.0


class LanguageServer:
    """One running server; a context manager that ends it. Every wait has a deadline."""

    def __init__(self, folder: Path) -> None:
        program = folder / "node_modules" / "yaml-language-server" / "bin" / "yaml-language-server"
        self._process = subprocess.Popen(
            ["node", str(program), "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._number = 0
        self._read = b""

    def __enter__(self) -> Self:
        self.ask("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
        self.tell("initialized", {})
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait(timeout=_PATIENCE)

    def open(self, path: Path) -> None:
        """Open a file; its first line says where its schema is."""
        text = path.read_text()
        document = {"uri": path.as_uri(), "languageId": "yaml", "version": 1, "text": text}
        self.tell("textDocument/didOpen", {"textDocument": document})

    def completions(self, path: Path, line: int, column: int) -> set[str]:
        """The words that are offered at a place, counted from 0."""
        found = self.ask("textDocument/completion", self._at(path, line, column))
        items = found["items"] if isinstance(found, dict) else found or []
        return {str(item["label"]) for item in items}

    def hover(self, path: Path, line: int, column: int) -> str:
        """What is shown over a word; empty when there is nothing."""
        found = self.ask("textDocument/hover", self._at(path, line, column))
        return str(found["contents"]["value"]) if found else ""

    def _at(self, path: Path, line: int, column: int) -> dict[str, Any]:
        return {"textDocument": {"uri": path.as_uri()}, "position": {"line": line, "character": column}}

    # ------------------------------------------------------------ the wire

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        """Send a request and wait for its answer."""
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        end = time.monotonic() + _PATIENCE
        while True:
            message = self._next(end)
            if "method" in message and "id" in message:
                self._answer(message)
            elif message.get("id") == self._number:
                assert "error" not in message, message["error"]
                return message["result"]

    def tell(self, method: str, params: dict[str, Any]) -> None:
        """Send a notice, which has no answer."""
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def _answer(self, request: dict[str, Any]) -> None:
        """The server asks its editor for settings and tells what it can do; it has none and is believed."""
        empty = [{} for _ in request["params"].get("items", ())] if "configuration" in request["method"] else None
        self._send({"jsonrpc": "2.0", "id": request["id"], "result": empty})

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        body = json.dumps(message).encode()
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self._process.stdin.flush()

    def _next(self, end: float) -> dict[str, Any]:
        while b"\r\n\r\n" not in self._read:
            self._more(end)
        head, _, self._read = self._read.partition(b"\r\n\r\n")
        length = next(int(row[16:]) for row in head.split(b"\r\n") if row.lower().startswith(b"content-length:"))
        while len(self._read) < length:
            self._more(end)
        body, self._read = self._read[:length], self._read[length:]
        message: dict[str, Any] = json.loads(body)
        return message

    def _more(self, end: float) -> None:
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as ready:
            ready.register(self._process.stdout, selectors.EVENT_READ)
            assert ready.select(max(0.0, end - time.monotonic())), "the language server does not answer"
        part = self._process.stdout.read1(65536)  # type: ignore[union-attr]
        assert part, "the language server ended"
        self._read += part
