"""Runs the tests."""

from . import aio, deaths, methods, sessions, tls, waits  # noqa: F401
from .harness import main

main()
