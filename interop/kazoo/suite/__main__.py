"""Runs every test of the suite, or those whose name contains one of the arguments."""

import sys

from suite import acl, deaths, held, members, nodes, outage, pipeline, recipes, sasl, sessions, tls, transactions
from suite import watchers, watches
from suite.harness import DEATHS, run

if __name__ == "__main__":
    if sys.argv[1:2] == ["held"]:
        held.main()
    else:
        modules = [nodes, transactions, acl, watches, watchers, pipeline, recipes, sessions, sasl, tls, members, outage]
        modules += [deaths] if DEATHS else []
        sys.exit(run(modules, sys.argv[1:]))
