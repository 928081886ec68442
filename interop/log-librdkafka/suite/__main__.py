"""Runs every test of the suite, or those whose name contains one of the arguments."""

import sys

from suite import (  # noqa: F401  Their tests are registered.
    administration, consumer_protocol, deaths, groups, kcat, queues, records, topics, transactions,
)
from suite.broker import Broker
from suite.harness import run

if __name__ == "__main__":
    sys.exit(1 if run(Broker(), sys.argv[1:]) else 0)
