"""Who asks: a token, or a file with one that may be replaced while it is used."""

import os
import re

TOKEN = re.compile("diwan_[0-9a-f]{64}")
FILE_BYTES_MAX = 4096


class Credentials:
    """A token comes by name, from a file, or from `DIWAN_TOKEN` or the file that `DIWAN_TOKEN_FILE` names."""

    def __init__(self, token=None, file=None):
        if token is not None and file is not None:
            raise ValueError("a token or a file with one, not both")
        if token is None and file is None:
            token = (os.environ.get("DIWAN_TOKEN") or "").strip() or None
            file = None if token else os.environ.get("DIWAN_TOKEN_FILE") or None
        self._file = file
        self._token = token if file is None else self._read()
        if self._token is not None and not TOKEN.fullmatch(self._token):
            raise ValueError("a token is `diwan_` and 64 hexadecimal digits: `diwan object token create` makes one")

    @property
    def fields(self):
        return {"Authorization": f"Bearer {self._token}"} if self._token else {}

    def replaced(self, refused):
        """Whether the file has another token by now than the one that was refused. What it has is used from then on."""
        if self._file is None:
            return False
        try:
            token = self._read()
        except OSError:
            return False
        if TOKEN.fullmatch(token):
            self._token = token
        # Another request may have found it already.
        return self.fields != refused

    def _read(self):
        with open(self._file, encoding="ascii", errors="replace") as file:
            return file.read(FILE_BYTES_MAX).strip()
