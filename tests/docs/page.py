"""A page of docs as something that runs: each section is a site, its blocks are files and commands in their order."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from click.testing import CliRunner

from sweeprules.cli.main import cli

ROOT = Path(__file__).resolve().parents[2]
RULES_PAGE = ROOT / "docs" / "rules.md"
EXAMPLES_PAGE = ROOT / "docs" / "examples.md"
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
_PLACE = re.compile(r"(?:# |\{# )([\w./-]+)(?: #\})?\n")
_CLUSTER = """cluster: tundra
enabled: false
because: this cluster is invented
scheduler: slurm
user: mira
timezone: Europe/Oslo
reach: {via: openssh, host: tundra}
"""
_UNSTABLE = (
    (re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{6}"), "SWEEP"),
    (re.compile(r"policy [0-9a-f]{8}"), "policy HASH"),
    (re.compile(r"\b\d+ rules\b"), "N rules"),
    (re.compile(r"^(SURVIVED \S+:\d+): .*"), r"\1: CHANGE"),
    (re.compile(r"^mutation: .*"), "mutation: COUNT"),
    (re.compile(r"(builtin:rules/[\w-]+\.yaml):\d+"), r"\1:N"),
)
ANYTHING = "…"
MOST = 3_000
"""Characters of an output that a failing test shows."""
MISTAKES = "wrong"
"""How the name of a file begins that is there for what `validate` says of it; it goes after the next command."""


@dataclass(frozen=True)
class Block:
    """One fenced block: its language and text."""

    language: str
    text: str

    @property
    def place(self) -> str | None:
        """The file that it is, as its first line says."""
        found = _PLACE.match(self.text)
        return found.group(1) if found else None

    def commands(self) -> Iterator[tuple[str, list[str]]]:
        """Each command with the lines that it is said to print."""
        for part in re.split(r"^\$ ", self.text, flags=re.M)[1:]:
            command, *lines = part.rstrip("\n").split("\n")
            yield command, lines


@dataclass(frozen=True)
class Section:
    """What stands under a heading of the second level."""

    title: str
    blocks: tuple[Block, ...]


def sections(page: Path) -> list[Section]:
    """The sections of a page that have blocks; a heading within a block is none."""
    found: list[tuple[str, list[str]]] = []
    fenced = False
    for line in page.read_text(encoding="utf-8").splitlines(keepends=True):
        fenced ^= line.startswith("```")
        if line.startswith("## ") and not fenced:
            found.append((line[3:].strip(), []))
        elif found:
            found[-1][1].append(line)
    texts = ((title, "".join(lines)) for title, lines in found)
    whole = (Section(title, tuple(Block(*one.groups()) for one in _FENCE.finditer(text))) for title, text in texts)
    return [section for section in whole if section.blocks]


def matches(expected: list[str], actual: str) -> bool:
    """Whether lines are what was printed; a line `…` stands for any number of lines, unstable words are alike."""
    wanted = [_stable(line) for line in expected]
    pattern = "".join(r"(?:.*\n)*?" if line == ANYTHING else re.escape(line) + r"\n" for line in wanted)
    text = "".join(f"{_stable(line)}\n" for line in actual.rstrip("\n").split("\n")) if actual.strip() else ""
    return re.fullmatch(pattern, text) is not None


def _stable(line: str) -> str:
    for unstable, word in _UNSTABLE:
        line = unstable.sub(word, line)
    return line.rstrip()


@dataclass
class Reader:
    """Follows a section as a person would; `wrong` collects what is not as the page says."""

    folder: Path
    status: int = 0
    wrong: list[str] = field(default_factory=list)

    def follow(self, section: Section) -> None:
        """Write its files and run its commands, in order."""
        for block in section.blocks:
            if block.language == "console":
                for command, lines in block.commands():
                    self._run(command, lines)
                for path in self.folder.glob(f"rules/{MISTAKES}*"):
                    path.unlink()
            elif block.place is None:
                self.wrong.append(f"a block of {block.language} does not say which file it is:\n{block.text}")
            else:
                path = self.folder / block.place
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(block.text, encoding="utf-8")

    def _run(self, command: str, lines: list[str]) -> None:
        words = shlex.split(command)
        if words[0] == "export":
            return
        if command == "echo $?":
            said = f"{self.status}\n"
        elif words[0] == "sweeprules":
            os.chdir(self.folder)
            result = CliRunner().invoke(cli, words[1:])
            self.status, said = result.exit_code, result.output
        else:
            said = self._shell(command)
        if not matches(lines, said):
            self.wrong.append(f"$ {command}\nexpected:\n" + "\n".join(lines) + f"\ngot:\n{said[:MOST]}")

    def _shell(self, command: str) -> str:
        done = subprocess.run(
            ["sh", "-ec", f"{command}; pwd"], cwd=self.folder, capture_output=True, text=True, check=True, timeout=60
        )
        *lines, folder = done.stdout.splitlines()
        self.folder = Path(folder)
        return "".join(f"{line}\n" for line in lines)

    def site_is_good(self) -> None:
        """At the end of a section its site has no mistake, and its tests pass."""
        os.chdir(self.folder)
        for command in ("validate", "test"):
            result = CliRunner().invoke(cli, [command])
            if result.exit_code != 0 or "warning" in result.output:
                self.wrong.append(f"{command} at the end of the section:\n{result.output}")


def new_site(folder: Path) -> Path:
    """A site that extends the shipped policy, with a cluster that is never contacted, and the demo beside it."""
    for name, text in {
        "sweeprules.yaml": "extends: builtin\n",
        "ops/tundra/cluster.yaml": _CLUSTER,
        "ops/tundra/ops.md": "# tundra\n",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "rules").mkdir()
    shutil.copytree(ROOT / "demo", folder / "demo")
    return folder
