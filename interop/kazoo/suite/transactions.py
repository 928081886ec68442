"""Transactions: all or nothing, one zxid, exact results also in failure."""

from kazoo.exceptions import (
    BadVersionError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    RolledBackError,
    RuntimeInconsistency,
)
from kazoo.protocol.states import ZnodeStat

from suite.harness import Events, equal


def _kinds(results):
    return [type(result) for result in results]


def commits_all(t):
    t.node("a", b"old")
    transaction = t.zk.transaction()
    transaction.create(t.path + "/b", b"new")
    transaction.check(t.path + "/a", 0)
    transaction.set_data(t.path + "/a", b"newer")
    transaction.delete(t.path + "/b")
    results = transaction.commit()
    equal(results[0], t.path + "/b")
    equal(results[1], True)
    assert isinstance(results[2], ZnodeStat), results
    equal(results[2].version, 1)
    equal(results[3], True)
    equal(t.zk.get(t.path + "/a")[0], b"newer")
    equal(t.zk.exists(t.path + "/b"), None)


def shares_one_zxid(t):
    transaction = t.zk.transaction()
    for name in "abc":
        transaction.create(f"{t.path}/{name}")
    transaction.commit()
    equal(len({t.zk.exists(f"{t.path}/{name}").czxid for name in "abc"}), 1)


def later_operations_see_earlier_ones(t):
    transaction = t.zk.transaction()
    transaction.create(t.path + "/a")
    transaction.create(t.path + "/a/b")
    transaction.set_data(t.path + "/a", b"x", version=0)
    transaction.check(t.path + "/a", 1)
    transaction.delete(t.path + "/a/b")
    transaction.delete(t.path + "/a", version=1)
    results = transaction.commit()
    assert not any(isinstance(result, Exception) for result in results), results
    equal(t.zk.get_children(t.path), [])


def sequences_inside(t):
    transaction = t.zk.transaction()
    for _ in range(3):
        transaction.create(t.path + "/n-", sequence=True)
    equal(transaction.commit(), [f"{t.path}/n-{n:010d}" for n in range(3)])


def failure_undoes_everything(t):
    t.node("a", b"old")
    transaction = t.zk.transaction()
    transaction.create(t.path + "/b")
    transaction.set_data(t.path + "/a", b"new")
    transaction.check(t.path + "/a", 7)
    transaction.create(t.path + "/c")
    transaction.delete(t.path + "/a")
    equal(_kinds(transaction.commit()),
          [RolledBackError, RolledBackError, BadVersionError, RuntimeInconsistency, RuntimeInconsistency])
    equal(t.zk.get_children(t.path), ["a"])
    equal(t.zk.get(t.path + "/a")[0], b"old")
    equal(t.zk.exists(t.path + "/a").version, 0)


def failure_names_its_error(t):
    t.node("a/b", makepath=True)
    for kind, add in (
        (NodeExistsError, lambda x: x.create(t.path + "/a")),
        (NoNodeError, lambda x: x.create(t.path + "/none/a")),
        (NoNodeError, lambda x: x.set_data(t.path + "/none", b"")),
        (NoNodeError, lambda x: x.delete(t.path + "/none")),
        (NoNodeError, lambda x: x.check(t.path + "/none", 0)),
        (NotEmptyError, lambda x: x.delete(t.path + "/a")),
    ):
        transaction = t.zk.transaction()
        add(transaction)
        equal(_kinds(transaction.commit()), [kind])


def failure_uses_no_sequence_number(t):
    for _ in range(3):
        transaction = t.zk.transaction()
        transaction.create(t.path + "/n-", sequence=True)
        transaction.check(t.path, 99)
        equal(_kinds(transaction.commit()), [RolledBackError, BadVersionError])
    equal(t.node("n-", sequence=True), t.path + "/n-0000000000")


def failure_leaves_nothing_pending(t):
    t.node("a/b", makepath=True)

    def delete_a():
        transaction = t.zk.transaction()
        transaction.delete(t.path + "/a")
        return transaction.commit()

    equal(_kinds(delete_a()), [NotEmptyError])
    t.zk.delete(t.path + "/a/b")
    equal(delete_a(), [True])


def failure_fires_no_watch(t):
    path = t.node("a")
    events = Events()
    t.zk.get(path, watch=events)
    transaction = t.zk.transaction()
    transaction.set_data(path, b"x")
    transaction.check(path, 99)
    transaction.commit()
    t.zk.set(path, b"real")
    equal(events.wait(), [("CHANGED", path)])
    equal(t.zk.exists(path).version, 1)


def empty_commits(t):
    equal(t.zk.transaction().commit(), [])


def ephemeral_inside(t):
    other = t.client()
    transaction = other.transaction()
    transaction.create(t.path + "/e", ephemeral=True)
    transaction.create(t.path + "/e-", ephemeral=True, sequence=True)
    transaction.commit()
    equal(t.zk.exists(t.path + "/e").ephemeralOwner, other.client_id[0])
    other.stop()
    equal(t.zk.get_children(t.path), [])


def as_a_context(t):
    with t.zk.transaction() as transaction:
        transaction.create(t.path + "/a")
        transaction.create(t.path + "/b")
    equal(sorted(t.zk.get_children(t.path)), ["a", "b"])


def hundreds_of_operations(t):
    transaction = t.zk.transaction()
    for n in range(500):
        transaction.create(f"{t.path}/c{n}", b"x" * 100)
    equal(len(transaction.commit()), 500)
    equal(t.zk.exists(t.path).numChildren, 500)


def inside_a_chroot(t):
    inside = t.client(chroot=t.path)
    transaction = inside.transaction()
    transaction.create("/a")
    transaction.check("/a", 0)
    equal(transaction.commit(), ["/a", True])
    assert t.zk.exists(t.path + "/a")
