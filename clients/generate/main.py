#!/usr/bin/env python3
"""Writes the classes of all libraries from table.py: `main.py`, or `main.py --check`, which only compares."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import golang  # noqa: E402
import java  # noqa: E402
import javascript  # noqa: E402
import python  # noqa: E402
import rust  # noqa: E402

LANGUAGES = [python, golang, javascript, java, rust]


def main():
    root = pathlib.Path(__file__).parent.parent
    check, stale = "--check" in sys.argv, []
    for language in LANGUAGES:
        for name, text in language.files().items():
            path = root / name
            if path.exists() and path.read_text() == text:
                continue
            stale.append(name)
            if not check:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
    if check and stale:
        sys.exit(f"run clients/generate/main.py: {', '.join(stale)} are not what table.py says")


main()
