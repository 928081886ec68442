"""The configuration of an ensemble: read, followed and changed."""

import os

from kazoo.exceptions import BadArgumentsError, BadVersionError, NoAuthError

from suite.harness import FLAVOR, Events, Skip, equal, raises

SERVERS = os.environ.get("ZK_SERVERS", "").split(",")
CONFIG = "/zookeeper/config"


def _need_ensemble():
    if len(SERVERS) < 2 or FLAVOR != "diwan":
        raise Skip("no ensemble whose members can be changed")


def _members(text):
    """Each member's line, taken apart as ZooKeeper's parser does: host, two ports, role, client address."""
    members = {}
    for line in text.decode().splitlines():
        key, value = line.split("=", 1)
        if key.startswith("server."):
            server, client = value.split(";")
            host, first, second, role = server.split(":")
            assert int(first) != int(second), line
            members[key[len("server.") :]] = (host, role, int(client.rsplit(":", 1)[1]))
    return members


def configuration_names_every_member(t):
    _need_ensemble()
    ports = sorted(port for _, _, port in _members(t.zk.get(CONFIG)[0]).values())
    equal(ports, sorted(int(server.rsplit(":", 1)[1]) for server in SERVERS))


def members_are_changed_and_watched(t):
    _need_ensemble()
    admin = t.client(auth_data=[("digest", "super:secret")])
    before = _members(admin.get(CONFIG)[0])
    events = Events()
    t.zk.get(CONFIG, watch=events)
    port = int(SERVERS[0].rsplit(":", 1)[1])
    data, _ = admin.reconfig(joining=f"server.9=127.0.0.1:2:observer;{port}", leaving=None, new_members=None)
    equal(_members(data), {**before, "9": ("127.0.0.1", "observer", port)})
    equal(events.wait(), [("CHANGED", CONFIG)])
    data, _ = admin.reconfig(joining=None, leaving="9", new_members=None)
    equal(_members(data), before)
    lines = ",".join(line for line in data.decode().splitlines() if line.startswith("server."))
    data, _ = admin.reconfig(joining=None, leaving=None, new_members=lines)
    equal(_members(data), before)


def who_may_not_hears_that_first(t):
    _need_ensemble()
    for joining in ("server.300=127.0.0.1:2:3;4", "nonsense"):
        with raises(NoAuthError):
            t.zk.reconfig(joining=joining, leaving=None, new_members=None, from_config=77)
    admin = t.client(auth_data=[("digest", "super:secret")])
    with raises(BadVersionError):
        admin.reconfig(joining="server.9=127.0.0.1:2:3;4", leaving=None, new_members=None, from_config=77)
    with raises(BadArgumentsError):
        admin.reconfig(joining="nonsense", leaving=None, new_members=None)
