"""Runs the tests."""

from . import aio, deaths, leader, methods, sessions, tls, tokens, waits  # noqa: F401
from .harness import main

main()
