"""Single operations on nodes: create modes, data, Stat, children, paths, errors."""

import time

from kazoo.exceptions import (
    BadVersionError,
    NoChildrenForEphemeralsError,
    NoNodeError,
    NodeExistsError,
    NotEmptyError,
    BadArgumentsError,
)

from suite.harness import equal, raises, wait_for


def create_returns_the_path(t):
    equal(t.zk.create(t.path + "/a", b"value"), t.path + "/a")
    equal(t.zk.get(t.path + "/a")[0], b"value")


def create_with_stat(t):
    path, stat = t.zk.create(t.path + "/a", b"four", include_data=True)
    equal(path, t.path + "/a")
    equal((stat.version, stat.cversion, stat.aversion), (0, 0, 0))
    equal(stat.dataLength, 4)
    assert stat.czxid == stat.mzxid == stat.pzxid > 0, stat
    assert stat.ctime == stat.mtime, stat
    assert abs(stat.ctime / 1000 - time.time()) < 60, stat
    equal(stat, t.zk.exists(path), "create's stat and exists'")


def create_existing_refused(t):
    t.node("a")
    with raises(NodeExistsError):
        t.node("a")


def create_orphan_refused(t):
    with raises(NoNodeError):
        t.node("a/b")


def create_makepath(t):
    t.node("a/b/c/d", b"deep", makepath=True)
    equal(t.zk.get(t.path + "/a/b/c/d")[0], b"deep")
    equal(t.zk.get(t.path + "/a/b")[0], b"")


def ephemeral_has_its_owner(t):
    _, stat = t.node("a", ephemeral=True, include_data=True)
    equal(stat.ephemeralOwner, t.zk.client_id[0])
    equal(t.zk.exists(t.path).ephemeralOwner, 0)


def ephemeral_leaves_with_its_session(t):
    other = t.client()
    other.create(t.path + "/a", ephemeral=True)
    other.create(t.path + "/b", ephemeral=True)
    assert t.zk.exists(t.path + "/a")
    other.stop()
    equal(t.zk.get_children(t.path), [])


def ephemeral_has_no_children(t):
    t.node("a", ephemeral=True)
    with raises(NoChildrenForEphemeralsError):
        t.node("a/b")


def sequence_counts_up(t):
    paths = [t.node("n-", sequence=True) for _ in range(5)]
    equal(paths, [f"{t.path}/n-{n:010d}" for n in range(5)])


def sequence_counts_every_creation_and_no_deletion(t):
    t.node("plain")
    t.zk.delete(t.path + "/plain")
    equal(t.node("n-", sequence=True), t.path + "/n-0000000001")
    with raises(NodeExistsError):
        t.node("n-0000000001")
    equal(t.node("m-", sequence=True), t.path + "/m-0000000002")


def sequence_restarts_with_its_parent(t):
    t.node("p")
    t.node("p/n-", sequence=True)
    t.zk.delete(t.path + "/p", recursive=True)
    t.node("p")
    equal(t.node("p/n-", sequence=True), t.path + "/p/n-0000000000")


def sequence_without_a_name(t):
    equal(t.zk.create(t.path + "/", sequence=True), t.path + "/0000000000")


def ephemeral_sequence(t):
    path, stat = t.node("e-", ephemeral=True, sequence=True, include_data=True)
    equal(path, t.path + "/e-0000000000")
    equal(stat.ephemeralOwner, t.zk.client_id[0])


def set_moves_version_and_mzxid(t):
    path = t.node("a", b"one")
    before = t.zk.exists(path)
    after = t.zk.set(path, b"second")
    equal((after.version, after.dataLength), (1, 6))
    equal(after.czxid, before.czxid)
    assert after.mzxid > before.mzxid, after
    equal(t.zk.get(path), (b"second", after))


def set_checks_the_version(t):
    path = t.node("a")
    t.zk.set(path, b"x", version=0)
    with raises(BadVersionError):
        t.zk.set(path, b"y", version=0)
    t.zk.set(path, b"z", version=1)
    equal(t.zk.get(path)[0], b"z")


def set_missing_refused(t):
    with raises(NoNodeError):
        t.zk.set(t.path + "/none", b"x")


def null_is_not_empty(t):
    empty, null = t.node("empty", b""), t.node("null", b"x")
    t.zk.set(null, None)
    equal(t.zk.get(empty)[0], b"")
    equal(t.zk.get(null)[0], None)
    equal(t.zk.exists(null).dataLength, 0)
    t.zk.set(null, b"")
    equal(t.zk.get(null)[0], b"")


def value_of_every_byte(t):
    value = bytes(range(256)) * 16
    path = t.node("bytes", value)
    equal(t.zk.get(path)[0], value)


def value_of_nearly_a_mebibyte(t):
    value = b"x" * (1024 * 1024 - 2048)
    path = t.node("big", value)
    data, stat = t.zk.get(path)
    assert data == value
    equal(stat.dataLength, len(value))


def delete_removes(t):
    path = t.node("a")
    t.zk.delete(path)
    equal(t.zk.exists(path), None)
    with raises(NoNodeError):
        t.zk.delete(path)


def delete_checks_the_version(t):
    path = t.node("a")
    with raises(BadVersionError):
        t.zk.delete(path, version=3)
    t.zk.delete(path, version=0)


def delete_of_a_parent_refused(t):
    t.node("a/b", makepath=True)
    with raises(NotEmptyError):
        t.zk.delete(t.path + "/a")


def delete_recursive(t):
    for leaf in "bcd":
        t.node("a/" + leaf + "/leaf", makepath=True)
    t.zk.delete(t.path + "/a", recursive=True)
    equal(t.zk.exists(t.path + "/a"), None)


def delete_of_system_nodes_refused(t):
    for path in ("/zookeeper", "/zookeeper/quota", "/zookeeper/config"):
        with raises(BadArgumentsError):
            t.zk.delete(path)


def exists_of_nothing(t):
    equal(t.zk.exists(t.path + "/none"), None)
    equal(t.zk.exists(t.path + "/none/below"), None)


def get_of_nothing(t):
    with raises(NoNodeError):
        t.zk.get(t.path + "/none")
    with raises(NoNodeError):
        t.zk.get_children(t.path + "/none")


def children_are_listed(t):
    for name in ("c", "a", "b"):
        t.node(name)
    t.node("a/deeper")
    equal(sorted(t.zk.get_children(t.path)), ["a", "b", "c"])


def children_with_stat(t):
    t.node("a")
    t.node("b")
    t.zk.delete(t.path + "/a")
    children, stat = t.zk.get_children(t.path, include_data=True)
    equal(children, ["b"])
    equal((stat.numChildren, stat.cversion), (1, 3))


def parent_stat_follows_children(t):
    before = t.zk.exists(t.path)
    _, child = t.node("a", include_data=True)
    after = t.zk.exists(t.path)
    equal(after.pzxid, child.czxid)
    equal((after.mzxid, after.version), (before.mzxid, before.version))
    t.zk.set(t.path + "/a", b"x")
    equal(t.zk.exists(t.path).pzxid, child.czxid, "pzxid after a child's setData")
    t.zk.delete(t.path + "/a")
    gone = t.zk.exists(t.path)
    assert gone.pzxid > child.czxid, gone
    equal((gone.cversion, gone.numChildren), (2, 0))


def many_children(t):
    pending = [t.zk.create_async(f"{t.path}/child-{n:05d}") for n in range(2000)]
    for result in pending:
        result.get(timeout=20)
    equal(len(t.zk.get_children(t.path)), 2000)
    equal(t.zk.exists(t.path).numChildren, 2000)


def unicode_names(t):
    names = ["käse", "中文", "документ", "ünïcode node", "a b", "%2F", "‰"]
    for name in names:
        t.node(name, name.encode())
    equal(sorted(t.zk.get_children(t.path)), sorted(names))
    for name in names:
        equal(t.zk.get(f"{t.path}/{name}")[0], name.encode())


def deep_paths(t):
    path = t.path + "/d" * 200
    t.zk.ensure_path(path)
    t.zk.set(path, b"bottom")
    equal(t.zk.get(path)[0], b"bottom")


def bad_paths_refused(t):
    # kazoo normalises what it can; these reach the server.
    for name in ("nul\x00", "control\x01", "private\ufff0"):
        with raises(BadArgumentsError):
            t.zk.create(f"{t.path}/{name}")


def root_is_readable(t):
    assert "zookeeper" in t.zk.get_children("/")
    equal(t.zk.get("/")[0], b"")
    equal(t.zk.exists("/").ephemeralOwner, 0)


def config_node_is_there(t):
    data, stat = t.zk.get("/zookeeper/config")
    assert data is not None
    assert stat.version >= -1, stat


def sync_returns_the_path(t):
    t.node("a")
    equal(t.zk.sync(t.path + "/a"), t.path + "/a")


def sync_then_read_sees_the_others_write(t):
    other = t.client()
    path = t.node("a")
    for n in range(50):
        t.zk.set(path, b"%d" % n)
        other.sync(path)
        equal(other.get(path)[0], b"%d" % n)


def chroot_is_the_clients_root(t):
    inside = t.client(chroot=t.path)
    equal(inside.create("/a", b"x"), "/a")
    equal(inside.create("/n-", sequence=True), "/n-0000000001")
    equal(t.zk.get(t.path + "/a")[0], b"x")
    equal(sorted(inside.get_children("/")), ["a", "n-0000000001"])


def chroot_that_does_not_exist(t):
    inside = t.client(chroot=t.path + "/not/yet")
    with raises(NoNodeError):
        inside.create("/a")
    t.zk.ensure_path(t.path + "/not/yet")
    inside.create("/a")
    assert t.zk.exists(t.path + "/not/yet/a")


def four_letter_words(t):
    equal(t.zk.command(b"ruok"), "imok")
    assert "Mode:" in t.zk.command(b"srvr")
    assert "zk_znode_count" in t.zk.command(b"mntr")
    equal(t.zk.command(b"isro"), "rw")
    assert t.zk.server_version() >= (3, 5), t.zk.server_version()


def mntr_counts_nodes(t):
    def count():
        (line,) = [x for x in t.zk.command(b"mntr").splitlines() if x.startswith("zk_znode_count\t")]
        return int(line.split("\t")[1])

    before = count()
    for n in range(10):
        t.node(f"c{n}")
    wait_for(lambda: count() == before + 10, "zk_znode_count to grow by 10")
