"""What goes wrong on disk, in words for people."""

from __future__ import annotations


class StoreError(Exception):
    """Raised when something kept on disk can not be read or written.

    `where` is the file or folder, `what` the failure with its reason, `hint` what a person can do about it.
    """

    def __init__(self, where: str, what: str, hint: str = "") -> None:
        self.where = where
        self.what = what
        self.hint = hint
        super().__init__(f"{where}: {what}" + (f" ({hint})" if hint else ""))


def reason(error: OSError) -> str:
    """The operating system's own words for a failure, without the path that people have seen already."""
    return error.strerror or type(error).__name__
