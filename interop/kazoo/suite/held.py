"""A client in a process of its own, so that it can be stopped like a process that hangs.

Prints `ready SESSION` when its ephemeral node stands, then each state of its connection; ends
with its input.
"""

import sys

from kazoo.client import KazooClient

from suite.harness import CONNECT


def main():
    path, timeout = sys.argv[2], float(sys.argv[3])
    zk = KazooClient(CONNECT, timeout=timeout, connection_retry={"max_tries": -1, "delay": 0.05})
    zk.start()
    zk.create(path, ephemeral=True)
    zk.add_listener(lambda state: print(state, flush=True))
    print("ready", zk.client_id[0], flush=True)
    sys.stdin.read()
