"""kazoo's watchers that re-arm themselves: DataWatch, ChildrenWatch, TreeCache."""

from kazoo.recipe.cache import TreeCache, TreeEvent
from kazoo.recipe.watchers import PatientChildrenWatch

from suite.harness import equal, wait_for


def data_watch_follows_every_value(t):
    path, seen = t.node("a", b"0"), []

    @t.zk.DataWatch(path)
    def _(data, stat):
        seen.append((data, stat.version))

    for n in range(1, 6):
        t.zk.set(path, b"%d" % n)
        wait_for(lambda n=n: seen[-1] == (b"%d" % n, n), f"value {n}")


def data_watch_follows_creation_and_deletion(t):
    path, seen = t.path + "/a", []

    @t.zk.DataWatch(path)
    def _(data, stat, event):
        seen.append((data, event.type if event else None))

    equal(seen, [(None, None)])
    t.zk.create(path, b"x")
    wait_for(lambda: seen[-1] == (b"x", "CREATED"), "the creation")
    t.zk.delete(path)
    wait_for(lambda: seen[-1] == (None, "DELETED"), "the deletion")
    t.zk.create(path, b"y")
    wait_for(lambda: seen[-1][0] == b"y", "the second creation")


def data_watch_stops_when_told(t):
    path, seen, other = t.node("a", b"0"), [], []

    @t.zk.DataWatch(path)
    def _(data, _stat):
        seen.append(data)
        return False

    @t.zk.DataWatch(path)
    def _(data, _stat):
        other.append(data)

    t.zk.set(path, b"1")
    wait_for(lambda: other[-1] == b"1", "the change")
    equal(seen, [b"0"])


def children_watch_follows(t):
    seen = []

    @t.zk.ChildrenWatch(t.path)
    def _(children):
        seen.append(sorted(children))

    equal(seen, [[]])
    t.node("a")
    wait_for(lambda: seen[-1] == ["a"], "the first child")
    t.node("b")
    wait_for(lambda: seen[-1] == ["a", "b"], "the second child")
    t.zk.delete(t.path + "/a")
    wait_for(lambda: seen[-1] == ["b"], "the deletion")


def patient_children_watch_waits_for_quiet(t):
    t.node("a")
    children, changed = PatientChildrenWatch(t.zk, t.path, time_boundary=0.2).start().get(timeout=10)
    equal(children, ["a"])
    t.node("b")
    changed.get(timeout=10)


def _cache(t, path):
    cache, events = TreeCache(t.zk, path), []
    cache.listen(lambda event: events.append((event.event_type, getattr(event.event_data, "path", None))))
    cache.start()
    wait_for(lambda: (TreeEvent.INITIALIZED, None) in events, "the cache to fill")
    return cache, events


def tree_cache_mirrors_the_tree(t):
    t.node("a/b", b"deep", makepath=True)
    cache, events = _cache(t, t.path)
    equal(cache.get_data(t.path + "/a/b").data, b"deep")
    equal(cache.get_children(t.path), frozenset(["a"]))

    t.zk.set(t.path + "/a/b", b"changed")
    wait_for(lambda: (TreeEvent.NODE_UPDATED, t.path + "/a/b") in events, "the update")
    equal(cache.get_data(t.path + "/a/b").data, b"changed")

    t.node("a/c/d", b"new", makepath=True)
    wait_for(lambda: cache.get_data(t.path + "/a/c/d"), "the new branch")
    t.zk.delete(t.path + "/a", recursive=True)
    wait_for(lambda: cache.get_data(t.path + "/a") is None, "the branch's end")
    assert (TreeEvent.NODE_REMOVED, t.path + "/a/b") in events
    cache.close()


def tree_cache_of_many_nodes(t):
    pending = []
    for n in range(20):
        t.node(f"p{n}")
        pending += [t.zk.create_async(f"{t.path}/p{n}/c{m}", b"%d" % m) for m in range(20)]
    for result in pending:
        result.get(timeout=10)
    cache, _ = _cache(t, t.path)
    equal(cache.get_children(t.path), frozenset(f"p{n}" for n in range(20)))
    equal(cache.get_data(t.path + "/p7/c13").data, b"13")
    other = t.client()
    for m in range(20):
        other.set(f"{t.path}/p3/c{m}", b"again")
    wait_for(lambda: all(cache.get_data(f"{t.path}/p3/c{m}").data == b"again" for m in range(20)), "the changes")
    cache.close()
