"""The server dies, stops, hangs and comes back: what it acknowledged is there, sessions go on."""

from kazoo.exceptions import ConnectionLoss, NoAuthError
from kazoo.protocol.states import KazooState
from kazoo.security import READ_ACL_UNSAFE

from suite.harness import FLAVOR, Skip, control, equal, in_background, raises, wait_for
from suite.proxy import Proxy


def _connected(zk):
    return lambda: zk.state == KazooState.CONNECTED


def _restart(zk, how):
    states = []
    zk.add_listener(states.append)
    control(how)
    wait_for(lambda: KazooState.SUSPENDED in states, "the loss of the connection")
    control("start")
    wait_for(lambda: KazooState.CONNECTED in states, f"reconnection, after {states}")
    equal(states, [KazooState.SUSPENDED, KazooState.CONNECTED])


def kill_keeps_everything(t):
    identity = t.zk.client_id
    t.node("plain", b"data")
    t.node("guarded", acl=READ_ACL_UNSAFE)
    t.node("n-", sequence=True)
    ephemeral = t.node("e", b"alive", ephemeral=True)
    t.zk.set(t.path + "/plain", b"newer")
    stats = {name: t.zk.exists(f"{t.path}/{name}") for name in t.zk.get_children(t.path)}
    _restart(t.zk, "kill")
    equal(t.zk.client_id, identity)
    equal({name: t.zk.exists(f"{t.path}/{name}") for name in t.zk.get_children(t.path)}, stats)
    equal(t.zk.get(t.path + "/plain")[0], b"newer")
    equal(t.zk.exists(ephemeral).ephemeralOwner, identity[0])
    with raises(NoAuthError):
        t.zk.set(t.path + "/guarded", b"")
    equal(t.node("n-", sequence=True), t.path + "/n-0000000004")
    t.zk.stop()
    equal(t.client().exists(ephemeral), None)


def stop_keeps_everything(t):
    identity = t.zk.client_id
    path = t.node("e", b"x", ephemeral=True)
    _restart(t.zk, "stop")
    equal(t.zk.client_id, identity)
    equal(t.zk.get(path)[0], b"x")


def acknowledged_writes_survive_a_kill(t):
    acknowledged, pending = [], []
    for n in range(3000):
        result = t.zk.create_async(f"{t.path}/n{n:05d}", b"%d" % n)
        result.rawlink(lambda r, n=n: acknowledged.append(n) if r.successful() else None)
        pending.append(result)
    wait_for(lambda: len(acknowledged) > 300, "some acknowledgements")
    control("kill")
    for result in pending:
        result.wait(10)
    control("start")
    wait_for(_connected(t.zk), "reconnection")
    present = {int(name[1:]) for name in t.zk.get_children(t.path)}
    equal(sorted(set(acknowledged) - present), [], "acknowledged and lost")
    assert present == set(range(len(present))), "a gap in what survived"


def requests_in_flight_fail_when_it_dies(t):
    control("pause")
    pending = [t.zk.create_async(f"{t.path}/n{n}") for n in range(10)]
    control("kill")
    for result in pending:
        with raises(ConnectionLoss):
            result.get(timeout=15)
    control("start")
    wait_for(_connected(t.zk), "reconnection")
    equal(t.node("after"), t.path + "/after")


def retry_outlasts_a_restart(t):
    done = []
    control("kill")
    worker = in_background(lambda: done.append(t.zk.retry(t.zk.create, t.path + "/a")))
    control("start")
    worker.join(20)
    equal(done, [t.path + "/a"])


def lock_is_kept_through_a_restart(t):
    lock, rival = t.zk.Lock(t.path + "/lock", "holder"), t.client()
    lock.acquire()
    _restart(t.zk, "kill")
    wait_for(_connected(rival), "the rival's reconnection")
    equal(rival.Lock(t.path + "/lock").acquire(blocking=False), False)
    equal(lock.contenders(), ["holder"])
    lock.release()
    assert rival.Lock(t.path + "/lock").acquire(timeout=10)


def absent_sessions_expire_after_a_restart(t):
    proxy = Proxy()
    zk = t.client(start=False, timeout=1)
    zk.set_hosts(proxy.address)
    zk.start()
    path = zk.create(t.path + "/e", ephemeral=True)
    proxy.shut()
    control("kill")
    control("start")
    wait_for(_connected(t.zk), "reconnection")
    wait_for(lambda: not t.zk.exists(path), "the ephemeral's end")


def watchers_follow_through_a_restart(t):
    path, values = t.node("a", b"0"), []
    t.zk.DataWatch(path, lambda data, stat: values.append(data))
    other = t.client()
    _restart(t.zk, "kill")
    wait_for(_connected(other), "the other's reconnection")
    other.set(path, b"1")
    wait_for(lambda: values[-1] == b"1", "the new value")


def a_pause_is_noticed_and_survived(t):
    zk, states = t.client(timeout=1.5), []
    zk.add_listener(states.append)
    control("pause")
    try:
        wait_for(lambda: KazooState.SUSPENDED in states, "the loss of the connection")
    finally:
        control("resume")
    wait_for(lambda: states[-1] == KazooState.CONNECTED, "reconnection")
    # The session itself may or may not have outlived the pause.
    assert zk.exists("/")


def a_pause_costs_no_session(t):
    """The server's own standstill is nobody's silence: what only Diwan promises."""
    if FLAVOR != "diwan":
        raise Skip("ZooKeeper does not promise it")
    brief, lasting = t.client(timeout=1), t.client(timeout=4)
    session, path = brief.client_id[0], brief.create(t.path + "/e", ephemeral=True)
    states = []
    lasting.add_listener(states.append)
    control("pause")
    try:
        # Four seconds' client notices after more than one has gone by.
        wait_for(lambda: KazooState.SUSPENDED in states, "the loss of the connection")
    finally:
        control("resume")
    wait_for(_connected(brief), "reconnection")
    equal(brief.client_id[0], session)
    equal(brief.exists(path).ephemeralOwner, session)


def several_restarts(t):
    identity, path = t.zk.client_id, t.node("n", b"")
    for n in range(3):
        t.zk.set(path, b"%d" % n)
        _restart(t.zk, "kill")
        equal(t.zk.get(path)[0], b"%d" % n)
        equal(t.zk.exists(path).version, n + 1)
    equal(t.zk.client_id, identity)
