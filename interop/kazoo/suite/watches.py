"""One-shot watches: what fires them, how often, and in which order."""

from kazoo.exceptions import NoNodeError

from suite.harness import Events, equal, raises


def data_watch_on_set(t):
    path, events = t.node("a"), Events()
    t.zk.get(path, watch=events)
    t.zk.set(path, b"x")
    equal(events.wait(), [("CHANGED", path)])


def data_watch_on_delete(t):
    path, events = t.node("a"), Events()
    t.zk.get(path, watch=events)
    t.zk.delete(path)
    equal(events.wait(), [("DELETED", path)])


def exists_watch_on_creation(t):
    path, events = t.path + "/a", Events()
    equal(t.zk.exists(path, watch=events), None)
    t.zk.create(path)
    equal(events.wait(), [("CREATED", path)])


def exists_watch_on_set_and_delete(t):
    path, first, second = t.node("a"), Events(), Events()
    t.zk.exists(path, watch=first)
    t.zk.set(path, b"x")
    equal(first.wait(), [("CHANGED", path)])
    t.zk.exists(path, watch=second)
    t.zk.delete(path)
    equal(second.wait(), [("DELETED", path)])


def child_watch_on_creation_and_deletion(t):
    first, second = Events(), Events()
    t.zk.get_children(t.path, watch=first)
    t.node("a")
    equal(first.wait(), [("CHILD", t.path)])
    t.zk.get_children(t.path, watch=second)
    t.zk.delete(t.path + "/a")
    equal(second.wait(), [("CHILD", t.path)])


def child_watch_on_the_nodes_own_deletion(t):
    path, events = t.node("a"), Events()
    t.zk.get_children(path, watch=events)
    t.zk.delete(path)
    equal(events.wait(), [("DELETED", path)])


def child_watch_ignores_data_and_grandchildren(t):
    path, events = t.node("a"), Events()
    t.zk.get_children(t.path, watch=events)
    t.zk.set(path, b"x")
    t.zk.set(t.path, b"x")
    t.node("a/b")
    equal(events.so_far(), [])
    t.node("last")
    equal(events.wait(), [("CHILD", t.path)])


def data_watch_ignores_children(t):
    events = Events()
    t.zk.get(t.path, watch=events)
    t.node("a")
    t.zk.delete(t.path + "/a")
    t.zk.set(t.path, b"x")
    equal(events.wait(), [("CHANGED", t.path)])


def fires_once(t):
    path, events, second = t.node("a"), Events(), Events()
    t.zk.get(path, watch=events)
    for n in range(3):
        t.zk.set(path, b"%d" % n)
    t.zk.get(path, watch=second)
    t.zk.set(path, b"last")
    second.wait()
    equal(events.so_far(), [("CHANGED", path)])


def the_same_function_twice_is_called_once(t):
    path, events, other = t.node("a"), Events(), Events()
    t.zk.get(path, watch=events)
    t.zk.exists(path, watch=events)
    t.zk.exists(path, watch=other)
    t.zk.set(path, b"x")
    equal(other.wait(), [("CHANGED", path)])
    equal(events.wait(), [("CHANGED", path)])


def data_and_child_watch_on_deletion(t):
    path, data, children = t.node("a"), Events(), Events()
    t.zk.get(path, watch=data)
    t.zk.get_children(path, watch=children)
    t.zk.delete(path)
    equal(data.wait(), [("DELETED", path)])
    equal(children.wait(), [("DELETED", path)])


def failed_get_leaves_no_watch(t):
    path, events, real = t.path + "/a", Events(), Events()
    with raises(NoNodeError):
        t.zk.get(path, watch=events)
    with raises(NoNodeError):
        t.zk.get_children(path, watch=events)
    t.zk.create(path)
    t.zk.get(path, watch=real)
    t.zk.set(path, b"x")
    real.wait()
    assert ("CREATED", path) not in events.so_far(), events.so_far()


def others_writes_are_told(t):
    other, path, events = t.client(), t.node("a"), Events()
    t.zk.get(path, watch=events)
    other.set(path, b"x")
    equal(events.wait(), [("CHANGED", path)])


def ephemerals_end_is_told(t):
    other, events, parent = t.client(), Events(), Events()
    path = other.create(t.path + "/e", ephemeral=True)
    t.zk.exists(path, watch=events)
    t.zk.get_children(t.path, watch=parent)
    other.stop()
    equal(events.wait(), [("DELETED", path)])
    equal(parent.wait(), [("CHILD", t.path)])


def transaction_fires_for_each_part(t):
    a, b = t.node("a"), t.node("b")
    events = Events()
    t.zk.get(a, watch=events)
    t.zk.get(b, watch=events)
    t.zk.exists(t.path + "/c", watch=events)
    transaction = t.zk.transaction()
    transaction.set_data(a, b"x")
    transaction.delete(b)
    transaction.create(t.path + "/c")
    transaction.commit()
    equal(events.wait(3), [("CHANGED", a), ("DELETED", b), ("CREATED", t.path + "/c")])


def inside_a_chroot(t):
    inside, events = t.client(chroot=t.path), Events()
    inside.get_children("/", watch=events)
    inside.exists("/a", watch=events)
    t.node("a")
    equal(sorted(events.wait(2)), [("CHILD", "/"), ("CREATED", "/a")])


def thousands_at_once(t):
    paths = [f"{t.path}/n{n}" for n in range(1000)]
    events = Events()
    for pending in [t.zk.exists_async(path, watch=events) for path in paths]:
        pending.get(timeout=10)
    other = t.client()
    for pending in [other.create_async(path) for path in paths]:
        pending.get(timeout=10)
    equal(events.wait(1000), [("CREATED", path) for path in paths])
