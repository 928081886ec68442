"""Runs every test of the suite, or those whose name contains one of the arguments."""

import os
import sys

from suite import deaths, groups, records, topics  # noqa: F401  Their tests are registered.
from suite.broker import Broker
from suite.harness import run

if __name__ == "__main__":
    if "ZK_PROGRAM" not in os.environ:
        print("skip librdkafka - there is no program of ours to run a broker with")
        sys.exit(0)
    broker = Broker()
    try:
        failed = run(broker, sys.argv[1:])
    finally:
        broker.remove()
    sys.exit(1 if failed else 0)
