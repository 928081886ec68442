"""Runs the tests."""

from . import aio, deaths, methods, sessions, waits  # noqa: F401
from .harness import main

main()
