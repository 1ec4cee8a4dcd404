"""Where the tool keeps what it has seen."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sweeprules.store.errors import StoreError, reason
from sweeprules.store.files import make_private_dir


def state_path(option: str | None, env: Mapping[str, str]) -> Path:
    """The state folder: the option, else SWEEPRULES_STATE, else `~/.local/state/sweeprules` (XDG_STATE_HOME counts)."""
    named = option or env.get("SWEEPRULES_STATE")
    if named:
        return Path(named).expanduser().absolute()
    # The Unix form on macOS too: the contract names one place for both.
    from platformdirs.unix import Unix

    return Path(Unix("sweeprules").user_state_dir)


def make_state(path: Path) -> None:
    """Make the state folder, for the owner alone, when it is not there. Raises `StoreError`."""
    try:
        make_private_dir(path)
    except OSError as error:
        raise StoreError(
            str(path), f"the state folder could not be made: {reason(error)}", "name another with --state"
        ) from error
    if not path.is_dir():
        raise StoreError(str(path), "is not a folder", "name a folder with --state")
