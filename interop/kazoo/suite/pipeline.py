"""Many requests in flight: order, completeness, and callbacks."""

import threading

from kazoo.exceptions import BadVersionError, NoNodeError
from kazoo.handlers.threading import SequentialThreadingHandler

from suite.harness import equal, in_background, raises


def writes_keep_their_order(t):
    path = t.node("a")
    pending = [t.zk.set_async(path, b"%d" % n) for n in range(2000)]
    versions = [result.get(timeout=20).version for result in pending]
    equal(versions, list(range(1, 2001)))
    equal(t.zk.get(path)[0], b"1999")


def reads_see_the_writes_before_them(t):
    path = t.node("a")
    reads = []
    for n in range(500):
        t.zk.set_async(path, b"%d" % n)
        reads.append(t.zk.get_async(path))
    equal([result.get(timeout=20)[0] for result in reads], [b"%d" % n for n in range(500)])


def errors_stay_with_their_request(t):
    path = t.node("a", b"x")
    pending = [t.zk.get_async(path if n % 3 else t.path + "/none") for n in range(300)]
    for n, result in enumerate(pending):
        if n % 3:
            equal(result.get(timeout=10)[0], b"x")
        else:
            with raises(NoNodeError):
                result.get(timeout=10)


def zxids_never_go_back(t):
    stats = [t.zk.create_async(f"{t.path}/n", sequence=True, include_data=True) for _ in range(500)]
    zxids = [result.get(timeout=10)[1].czxid for result in stats]
    equal(zxids, sorted(set(zxids)))


def callbacks_are_called(t):
    done, results = threading.Event(), []

    def collect(result):
        results.append(result.get())
        if len(results) == 100:
            done.set()

    for n in range(100):
        t.zk.create_async(f"{t.path}/n{n}").rawlink(collect)
    assert done.wait(10), f"{len(results)} of 100 callbacks"
    equal(results, [f"{t.path}/n{n}" for n in range(100)])


def every_asynchronous_call(t):
    zk, path = t.zk, t.path + "/a"
    equal(zk.create_async(path, b"x").get(10), path)
    equal(zk.exists_async(path).get(10).version, 0)
    equal(zk.get_async(path).get(10)[0], b"x")
    equal(zk.set_async(path, b"y").get(10).version, 1)
    equal(zk.get_children_async(t.path).get(10), ["a"])
    acls, stat = zk.get_acls_async(path).get(10)
    equal(zk.set_acls_async(path, acls, stat.aversion).get(10).aversion, 1)
    equal(zk.sync_async(path).get(10), path)
    equal(zk.ensure_path_async(path + "/b/c").get(10), path + "/b/c")
    equal(zk.delete_async(path + "/b/c").get(10), True)
    equal(zk.transaction().commit_async().get(10), [])


def big_values_in_flight(t):
    values = [bytes([65 + n]) * 500_000 for n in range(20)]
    for result in [t.zk.create_async(f"{t.path}/n{n}", value) for n, value in enumerate(values)]:
        result.get(timeout=20)
    reads = [t.zk.get_async(f"{t.path}/n{n}") for n in range(20)]
    for read, value in zip(reads, values):
        assert read.get(timeout=20)[0] == value


def threads_share_a_client(t):
    path, failures = t.node("n"), []

    def work(name):
        try:
            for n in range(50):
                t.zk.create(f"{path}/{name}-{n}")
        except Exception as error:  # pylint: disable=broad-except
            failures.append(error)

    threads = [in_background(work, name) for name in "abcdefgh"]
    for thread in threads:
        thread.join(20)
    equal(failures, [])
    equal(t.zk.exists(path).numChildren, 400)


def clients_race_for_versions(t):
    """Eight clients increment by compare and set; no increment is lost."""
    path, clients = t.node("n", b"0"), [t.client() for _ in range(8)]

    def work(zk):
        done = 0
        while done < 20:
            value, stat = zk.get(path)
            try:
                zk.set(path, b"%d" % (int(value) + 1), version=stat.version)
                done += 1
            except BadVersionError:
                continue

    threads = [in_background(work, zk) for zk in clients]
    for thread in threads:
        thread.join(30)
    equal(t.zk.get(path)[0], b"160")
    equal(t.zk.exists(path).version, 160)


def a_handler_of_ones_own(t):
    zk = t.client(handler=SequentialThreadingHandler())
    equal(zk.create(t.path + "/a"), t.path + "/a")
