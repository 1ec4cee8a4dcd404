"""Every verb and option has words, and a slip of the finger gets a hint."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest

from sweeprules.cli.main import VERBS, cli
from tests.cli.conftest import Sweeprules

CONTEXT = click.Context(cli)


def verb(name: str) -> click.Command:
    found = cli.get_command(CONTEXT, name)
    assert found is not None
    return found


def test_help_lists_every_verb(sweeprules: Sweeprules) -> None:
    found = sweeprules("--help")
    assert found.exit == 0
    for name, words in VERBS.items():
        assert f"  {name} " in found.out
        assert words in " ".join(found.out.split())


@pytest.mark.parametrize("name", VERBS)
def test_every_verb_and_option_has_help(name: str, sweeprules: Sweeprules) -> None:
    command = verb(name)
    assert command.help
    for param in command.params:
        if isinstance(param, click.Option):
            assert param.help, f"{name} {param.opts}"
    assert sweeprules(name, "--help").exit == 0


@pytest.mark.parametrize(
    "name", ["run", "validate", "test", "doctor", "init", "schema", "facts", "rules", "backtest", "verdict"]
)
def test_scripts_may_give_every_verb_the_same_options(name: str) -> None:
    options = {option for param in verb(name).params for option in param.opts}
    assert {"--site", "--state", "--debug"} <= options


def test_a_verb_that_is_misspelt_gets_the_nearest(sweeprules: Sweeprules) -> None:
    found = sweeprules("validat")
    assert found.exit == 2
    assert "did you mean validate?" in found.err


@pytest.mark.parametrize("name", VERBS)
def test_an_option_that_is_misspelt_gets_the_nearest(name: str, sweeprules: Sweeprules) -> None:
    found = sweeprules(name, "--debugg")
    assert found.exit == 2
    assert "--debug" in found.err.replace("--debugg", "", 1)


def test_help_loads_no_library_that_it_does_not_need() -> None:
    code = (
        "import sys; from sweeprules.cli.main import cli; cli.main(['--help'], standalone_mode=False);"
        "heavy = {'yaml', 'jinja2', 'fabric', 'jsonschema', 'rich', 'sqlite3', 're2'};"
        "print('LOADED', sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines()[-1] == "LOADED []"
