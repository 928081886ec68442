"""Members of the ensemble are killed one after the other and come back: what a client was told stays true."""

import time

from kazoo.exceptions import BadVersionError, ConnectionLoss, NodeExistsError
from kazoo.protocol.states import KazooState

from suite.harness import equal, in_background, wait_for

# Connections that are lost under each test.
MOVES = 2


def _moves(*clients):
    """How often all of these together have lost their connections."""
    lost = []
    for client in clients:
        client.add_listener(lambda state: lost.append(state) if state == KazooState.SUSPENDED else None)
    return lost


def _make(t, name, **options):
    """A node, whatever happens."""
    try:
        return t.zk.retry(t.node, name, b"0", **options)
    except NodeExistsError:
        return f"{t.path}/{name}"


def _write(zk, path, version):
    """Writes once whatever happens: what a lost connection leaves unknown, the version tells."""
    try:
        zk.retry(zk.set, path, b"%d" % (version + 1), version)
    except BadVersionError:
        data, stat = zk.retry(zk.get, path)
        equal((stat.version, data), (version + 1, b"%d" % (version + 1)))


def session_ephemerals_and_writes_stay(t):
    identity, path = t.zk.client_id, _make(t, "a")
    ephemeral = _make(t, "e", ephemeral=True)
    lost, version = _moves(t.zk), 0
    deadline = time.monotonic() + 30
    while len(lost) < MOVES or version < 100:
        assert time.monotonic() < deadline, f"{version} writes, {len(lost)} connections lost"
        _write(t.zk, path, version)
        version += 1
        equal(t.zk.retry(t.zk.exists, ephemeral).ephemeralOwner, identity[0])
        equal(t.zk.retry(t.zk.get, path)[1].version, version)
    equal(t.zk.client_id, identity)


def sequences_have_no_doubles_and_no_losses(t):
    lost, made = _moves(t.zk), []
    deadline = time.monotonic() + 30
    while len(lost) < MOVES or len(made) < 200:
        assert time.monotonic() < deadline, f"{len(made)} nodes, {len(lost)} connections lost"
        try:
            made.append(t.node("n-", sequence=True))
        except ConnectionLoss:
            pass
    t.zk.retry(t.zk.sync, t.path)
    present = [f"{t.path}/{name}" for name in t.zk.retry(t.zk.get_children, t.path)]
    equal(len(set(made)), len(made))
    equal(sorted(set(made) - set(present)), [], "acknowledged and lost")


def a_lock_has_one_holder(t):
    clients = [t.zk, t.client(), t.client()]
    lost, count, stop, errors = _moves(*clients), _make(t, "count"), [], []

    def add(zk):
        try:
            while not stop:
                with zk.Lock(t.path + "/lock"):
                    data, stat = zk.retry(zk.get, count)
                    _write(zk, count, stat.version)
                    equal(int(data), stat.version)
        except Exception as error:  # pylint: disable=broad-except
            if not stop:
                errors.append(error)

    threads = [in_background(add, zk) for zk in clients]
    wait_for(lambda: errors or len(lost) >= MOVES, "deaths", 30)
    stop.append(True)
    for thread in threads:
        thread.join(20)
    equal(errors, [])


def watches_hear_of_each_change(t):
    other, path, heard = t.client(), _make(t, "a"), []
    t.zk.DataWatch(path, lambda data, stat: heard.append(int(data)))
    lost, version = _moves(t.zk, other), 0
    deadline = time.monotonic() + 30
    while len(lost) < MOVES:
        assert time.monotonic() < deadline, f"{len(lost)} connections lost"
        _write(other, path, version)
        version += 1
        wait_for(lambda n=version: heard[-1] == n, f"the news of {version}, after {heard[-3:]}")
    equal(heard, sorted(heard))
