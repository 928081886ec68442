"""Runs every test of the suite, or those whose name contains one of the arguments."""

import logging
import os
import sys

from suite import deaths, aio_records, aio_groups, blocking_records, blocking_groups, blocking_admin  # noqa: F401  Their tests are registered.
from suite.broker import Broker
from suite.harness import run

if __name__ == "__main__":
    logging.basicConfig(level=logging.CRITICAL)
    status = 1 if run(Broker(), sys.argv[1:]) else 0
    sys.stdout.flush()
    # A client of a test that failed may have left threads that run on.
    os._exit(status)
