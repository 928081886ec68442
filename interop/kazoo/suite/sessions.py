"""Sessions: negotiation, resumption, expiry, and what becomes of their ephemerals."""

import re
import signal
import subprocess
import sys

from kazoo.exceptions import ConnectionClosedError
from kazoo.protocol.states import KazooState
from kazoo.security import CREATOR_ALL_ACL

from suite.harness import equal, raises, wait_for
from suite.proxy import Proxy


class _States(list):
    """The states a client went through."""

    def __init__(self, client):
        super().__init__()
        client.add_listener(self.append)

    def await_state(self, state):
        wait_for(lambda: state in self, f"{state}, after {list(self)}")


def _behind(t, proxy, **options):
    zk = t.client(start=False, **options)
    zk.set_hosts(proxy.address)
    zk.start(timeout=15)
    return zk


def id_and_password(t):
    session, password = t.zk.client_id
    assert session != 0
    equal(len(password), 16)
    others = {t.client().client_id[0] for _ in range(5)}
    equal(len(others | {session}), 6, "distinct ids")


def timeout_is_clamped(t):
    # kazoo keeps the negotiated value to itself; the server tells. 500 ms ticks allow 1 to 10 s.
    for asked, given in ((100, 10_000), (0.1, 1_000), (4, 4_000)):
        zk = t.client(timeout=asked)
        wait_for(lambda: re.search(rf"sid=0x{zk.client_id[0]:x},.*to={given},", t.zk.command(b"cons")),
                 f"a timeout of {given} ms for {asked} s")


def reconnection_keeps_the_session(t):
    proxy = Proxy()
    zk = _behind(t, proxy)
    states, before = _States(zk), zk.client_id
    path = zk.create(t.path + "/e", ephemeral=True)
    proxy.shut()
    states.await_state(KazooState.SUSPENDED)
    proxy.open()
    states.await_state(KazooState.CONNECTED)
    equal(zk.client_id, before)
    equal(zk.exists(path).ephemeralOwner, before[0])
    equal(states, [KazooState.SUSPENDED, KazooState.CONNECTED])


def reconnection_brings_credentials(t):
    proxy = Proxy()
    zk = _behind(t, proxy)
    zk.add_auth("digest", "alice:wonder")
    states = _States(zk)
    proxy.shut()
    states.await_state(KazooState.SUSPENDED)
    proxy.open()
    states.await_state(KazooState.CONNECTED)
    path = zk.create(t.path + "/hers", acl=CREATOR_ALL_ACL)
    equal(t.client(auth_data=[("digest", "alice:wonder")]).get(path)[0], b"")


def resumed_from_another_connection(t):
    proxy = Proxy()
    first = _behind(t, proxy)
    identity = first.client_id
    path = first.create(t.path + "/e", ephemeral=True)
    proxy.shut()
    second = t.client(client_id=identity)
    equal(second.client_id[0], identity[0])
    equal(second.exists(path).ephemeralOwner, identity[0])
    second.set(path, b"mine")
    second.stop()
    equal(t.zk.exists(path), None)


def taken_over_while_connected(t):
    first = t.client(connection_retry={"max_tries": 0})
    states, identity = _States(first), first.client_id
    path = first.create(t.path + "/e", ephemeral=True)
    second = t.client(client_id=identity)
    equal(second.client_id[0], identity[0])
    states.await_state(KazooState.SUSPENDED)
    assert t.zk.exists(path)


def wrong_password_gets_a_new_session(t):
    owner = t.client()
    path = owner.create(t.path + "/e", ephemeral=True)
    session = owner.client_id[0]
    stranger = t.client(client_id=(session, b"x" * 16))
    assert stranger.client_id[0] != session
    equal(t.zk.exists(path).ephemeralOwner, session)
    # The owner may have been cut off by a real server, but its session lives.
    equal(owner.retry(owner.exists, path).ephemeralOwner, session)
    equal(owner.client_id[0], session)


def unknown_session_gets_a_new_one(t):
    stranger = t.client(client_id=(0x123456789ABCDEF, b"x" * 16))
    assert stranger.client_id[0] != 0x123456789ABCDEF
    assert stranger.exists("/")


def closed_session_is_gone(t):
    first = t.client()
    identity = first.client_id
    first.stop()
    assert t.client(client_id=identity).client_id[0] != identity[0]


def expiry_when_cut_off(t):
    proxy = Proxy()
    zk = _behind(t, proxy, timeout=1)
    states, before = _States(zk), zk.client_id[0]
    path = zk.create(t.path + "/e", ephemeral=True)
    proxy.shut()
    wait_for(lambda: not t.zk.exists(path), "the ephemeral's end")
    proxy.open()
    states.await_state(KazooState.CONNECTED)
    equal(states, [KazooState.SUSPENDED, KazooState.LOST, KazooState.CONNECTED])
    assert zk.client_id[0] != before
    zk.create(path, ephemeral=True)


def expiry_spares_who_pings(t):
    """Idle but alive outlives silent, twice over."""
    idle = t.client(timeout=1)
    states, session = _States(idle), idle.client_id[0]
    path = idle.create(t.path + "/idle", ephemeral=True)
    for n in range(2):
        proxy = Proxy()
        silent = _behind(t, proxy, timeout=1).create(f"{t.path}/silent{n}", ephemeral=True)
        proxy.shut()
        wait_for(lambda: not t.zk.exists(silent), "the silent one's end")
    equal(states, [])
    equal(t.zk.exists(path).ephemeralOwner, session)


def expiry_of_a_stopped_process(t):
    path = t.path + "/e"
    process = subprocess.Popen([sys.executable, "-m", "suite", "held", path, "1"], text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        equal(process.stdout.readline().split()[0], "ready")
        process.send_signal(signal.SIGSTOP)
        wait_for(lambda: not t.zk.exists(path), "the ephemeral's end")
        process.send_signal(signal.SIGCONT)
        states = [process.stdout.readline().strip() for _ in range(3)]
        equal(states, [KazooState.SUSPENDED, KazooState.LOST, KazooState.CONNECTED])
    finally:
        process.kill()
        process.wait()


def expiry_of_a_killed_process(t):
    path = t.path + "/e"
    process = subprocess.Popen([sys.executable, "-m", "suite", "held", path, "1"], text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    session = int(process.stdout.readline().split()[1])
    equal(t.zk.exists(path).ephemeralOwner, session)
    process.kill()
    process.wait()
    wait_for(lambda: not t.zk.exists(path), "the ephemeral's end")


def expiry_ends_every_ephemeral_at_once(t):
    proxy = Proxy()
    zk = _behind(t, proxy, timeout=1)
    for result in [zk.create_async(f"{t.path}/e{n}", ephemeral=True) for n in range(200)]:
        result.get(timeout=10)
    proxy.shut()
    counts = set()
    wait_for(lambda: counts.add(len(t.zk.get_children(t.path))) or 0 in counts, "the ephemerals' end")
    equal(counts, {0, 200})


def expiry_frees_a_lock(t):
    proxy = Proxy()
    holder = _behind(t, proxy, timeout=1)
    assert holder.Lock(t.path + "/lock").acquire()
    proxy.shut()
    assert t.zk.Lock(t.path + "/lock").acquire(timeout=15)


def watchers_resume_after_reconnection(t):
    proxy, path = Proxy(), t.node("a", b"0")
    zk = _behind(t, proxy)
    values, lists = [], []
    zk.DataWatch(path, lambda data, stat: values.append(data))
    zk.ChildrenWatch(t.path, lambda children: lists.append(sorted(children)))
    proxy.shut()
    t.zk.set(path, b"1")
    t.node("b")
    proxy.open()
    wait_for(lambda: values[-1] == b"1" and lists[-1] == ["a", "b"], "what was missed")
    t.zk.set(path, b"2")
    t.node("c")
    wait_for(lambda: values[-1] == b"2" and lists[-1] == ["a", "b", "c"], "what came after")


def watchers_resume_after_expiry(t):
    proxy, path = Proxy(), t.node("a", b"0")
    zk = _behind(t, proxy, timeout=1)
    values, states = [], _States(zk)
    zk.DataWatch(path, lambda data, stat: values.append(data))
    mark = zk.create(t.path + "/mark", ephemeral=True)
    proxy.shut()
    wait_for(lambda: not t.zk.exists(mark), "the session's end")
    t.zk.set(path, b"1")
    proxy.open()
    states.await_state(KazooState.CONNECTED)
    wait_for(lambda: values[-1] == b"1", "what was missed")


def stopped_client_refuses_and_restarts(t):
    zk = t.client()
    session = zk.client_id[0]
    zk.stop()
    with raises(ConnectionClosedError):
        zk.exists("/")
    zk.start()
    assert zk.client_id[0] != session
    assert zk.exists("/")
