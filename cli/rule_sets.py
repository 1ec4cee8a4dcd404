"""A rule set to be tried on cassettes: read and compiled once, however many cassettes it judges."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from sweeprules.cli.loading import Loaded, SiteBrokenError, compile_load, compile_site, read_site
from sweeprules.cli.places import placed
from sweeprules.cli.replay import laid_out, rules_folder
from sweeprules.engine.errors import Mark, Problem
from sweeprules.store.cassette import Cassette
from sweeprules.store.settings import FILE
from sweeprules.store.site import SiteChoice, SiteLoad

RECORDED = "-"
"""On the command line: the policy that each cassette recorded."""

_Files = Mapping[str, str]


@dataclass(slots=True)
class RuleSet:
    """One side of a backtest: a site, a rules folder, or (None) what each cassette recorded.

    Of a site the settings, rules and templates count, of a rules folder the rules; all else, the records of clusters
    among it, is the cassette's.
    """

    folder: Path | None
    _site: Loaded | None = None
    _read: list[tuple[_Files, Loaded]] = field(default_factory=list)
    _compiled: list[Loaded] = field(default_factory=list)

    @property
    def name(self) -> str:
        """As people see it."""
        return "as recorded" if self.folder is None else str(self.folder)

    @property
    def policies(self) -> list[str]:
        """The hashes of the policies that judged, in the order of their first use."""
        used = [loaded.policy.sha256 for loaded in self._compiled]
        return list(dict.fromkeys(used or ([self._site.policy.sha256] if self._site else [])))

    def check(self) -> None:
        """Compile what needs no cassette. Raises `SiteBrokenError` with places that an editor opens."""
        if self.folder is None or not (self.folder / FILE).is_file():
            return
        root = self.folder.absolute()
        try:
            self._site = compile_site(SiteChoice(root, "--site"))
        except SiteBrokenError as broken:
            raise SiteBrokenError(placed(broken.problems, root, Path.cwd())) from None

    def loaded(self, tape: Cassette) -> Loaded:
        """The site that judges this cassette. Raises `SiteBrokenError` and `StoreError`."""
        for files, known in self._read:
            if files == tape.files:
                return known
        with tempfile.TemporaryDirectory(prefix="sweeprules-") as folder:
            choice = laid_out(tape, Path(folder), None if self._site is not None else self.folder)
            made = self._compile(choice, read_site(choice))
        self._read.append((tape.files, made))
        return made

    def _compile(self, choice: SiteChoice, load: SiteLoad) -> Loaded:
        if self._site is not None:
            site = replace(self._site.load.site, records=load.site.records)
            return replace(self._site, load=replace(self._site.load, site=site))
        for known in self._compiled:
            if (known.load.layers, known.load.templates, known.load.problems) == (
                load.layers, load.templates, load.problems
            ):  # fmt: skip
                return replace(known, choice=choice, load=load)
        try:
            made = compile_load(choice, load)
        except SiteBrokenError as broken:
            raise SiteBrokenError([self._placed(problem) for problem in broken.problems]) from None
        self._compiled.append(made)
        return made

    def _placed(self, problem: Problem) -> Problem:
        """A problem at the file that the person named, not at the copy beside the recorded records."""
        if self.folder is None:
            return problem
        path = (
            rules_folder(self.folder) / Path(problem.mark.file).relative_to("rules")
            if problem.mark.file.startswith("rules/")
            else None
        )
        if path is None or not path.is_file():
            return problem
        return replace(problem, mark=Mark(str(path), problem.mark.line, problem.mark.column))
