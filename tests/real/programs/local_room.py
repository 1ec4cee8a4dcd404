"""An environment for harbor that is a folder of this machine: no container, so that only our own tasks may run in it.

The paths that harbor names (`/logs`, `/tests`, `/solution`, `/app`) are folders in it; a command runs in a shell with
these paths turned into those, and with `ROOM` set to the folder for what scripts name themselves.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import tempfile
from pathlib import Path
from typing import Any

from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.environments.capabilities import EnvironmentCapabilities

_OURS = re.compile(r"(?<![\w./-])/(?=(?:logs|tests|solution|app)\b)")


class LocalRoom(BaseEnvironment):
    """One trial's folder."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.room = Path(tempfile.mkdtemp(prefix="room-"))
        super().__init__(*args, **kwargs)

    @staticmethod
    def type() -> str:
        return "local-room"

    @property
    def capabilities(self) -> EnvironmentCapabilities:
        return EnvironmentCapabilities()

    def _validate_definition(self) -> None:
        """A folder needs no definition."""

    def _inside(self, path: str) -> Path:
        return self.room / path.lstrip("/")

    async def start(self, force_build: bool) -> None:
        for name in ("app", "tests", "solution", "logs/agent", "logs/verifier", "logs/artifacts"):
            (self.room / name).mkdir(parents=True, exist_ok=True)

    async def stop(self, delete: bool) -> None:
        shutil.rmtree(self.room, ignore_errors=True)

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        self._inside(target_path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source_path, self._inside(target_path))

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        shutil.copytree(source_dir, self._inside(target_dir), dirs_exist_ok=True)

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        shutil.copy(self._inside(source_path), target_path)

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        shutil.copytree(self._inside(source_dir), target_dir, dirs_exist_ok=True)

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        ran = await asyncio.create_subprocess_exec(
            "bash",
            "-c",
            _OURS.sub(f"{self.room}/", command),
            cwd=self._inside(cwd or "app"),
            env={"PATH": os.environ["PATH"], **(env or {}), "ROOM": str(self.room)},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        try:
            out, err = await asyncio.wait_for(ran.communicate(), timeout_sec)
        finally:
            if ran.returncode is None:
                os.killpg(ran.pid, signal.SIGKILL)
                await ran.wait()
        return ExecResult(stdout=out.decode(), stderr=err.decode(), return_code=ran.returncode or 0)
