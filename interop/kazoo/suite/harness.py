"""What every test gets: clients that are closed behind it, a path of its own, waiting with a
deadline, and a hand on the server. Knows nothing of what is tested."""

import contextlib
import logging
import os
import socket
import subprocess
import sys
import threading
import time
import traceback

from kazoo.client import KazooClient

CONNECT = os.environ.get("ZK_CONNECT", "127.0.0.1:2181")
FLAVOR = os.environ.get("ZK_FLAVOR", "zookeeper")
# Members die one after the other meanwhile, which a file counts: clients know all of them.
DEATHS = os.environ.get("ZK_DEATHS")
SERVERS = os.environ["ZK_SERVERS"].split(",") if DEATHS else [CONNECT]
EXTRAS = os.environ.get("ZK_EXTRAS", "").split()
TEST_SECONDS_MAX = 40
# How often a test is played whose connections break under it.
ATTEMPTS = 5 if DEATHS else 1
WAIT_SECONDS = 15


class Skip(Exception):
    """The test does not apply here; its message says why."""


class Test:
    """One test's surroundings: `zk` is connected, `path` exists and is empty."""

    def __init__(self, name):
        self._clients = []
        # What one client wrote another reads at once only at the same server.
        self.servers = ",".join(sorted(SERVERS, key=lambda server: not _answers(server)))
        self.zk = self.client()
        self.path = "/kazoo/" + name.replace(".", "/")
        self.zk.retry(self.zk.ensure_path, self.path)

    def client(self, start=True, chroot="", timeout=10.0, address=None, **options):
        """A client of its own session; stopped when the test ends."""
        options.setdefault("connection_retry", {"max_tries": -1, "delay": 0.05, "max_delay": 0.2})
        address = address or self.servers
        client = KazooClient(address + chroot, timeout=timeout, randomize_hosts=False, **options)
        self._clients.append(client)
        if start:
            client.start(timeout=WAIT_SECONDS)
        return client

    def node(self, name, value=b"", **options):
        """Creates a node under the test's path and returns its path."""
        return self.zk.create(f"{self.path}/{name}", value, **options)

    def close(self):
        for client in self._clients:
            with contextlib.suppress(Exception):
                client.stop()
                client.close()


def wait_for(condition, what, seconds=WAIT_SECONDS):
    """Waits until `condition()` is true and returns its value."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds} s for {what}")
        time.sleep(0.01)


def equal(actual, expected, what=""):
    assert actual == expected, f"{what}: {actual!r}, expected {expected!r}".lstrip(": ")


@contextlib.contextmanager
def raises(kind):
    """The block must raise `kind`, and exactly that: kazoo's errors are one class a code."""
    try:
        yield
    except kind as error:
        assert type(error) is kind, f"raised {error!r}, expected {kind.__name__}"
    else:
        raise AssertionError(f"nothing raised, expected {kind.__name__}")


class Events:
    """A watcher that keeps what it was told."""

    def __init__(self):
        self._events = []
        self._arrived = threading.Condition()

    def __call__(self, event):
        with self._arrived:
            self._events.append((event.type, event.path))
            self._arrived.notify_all()

    def wait(self, count=1):
        """The first `count` events; fails when they do not come."""
        with self._arrived:
            self._arrived.wait_for(lambda: len(self._events) >= count, WAIT_SECONDS)
            assert len(self._events) >= count, f"{len(self._events)} of {count} events: {self._events}"
            return list(self._events)

    def so_far(self):
        with self._arrived:
            return list(self._events)


def control(verb):
    """Drives the server; returns when it is done."""
    executable = os.environ.get("ZK_CONTROL")
    if not executable:
        raise Skip("ZK_CONTROL is not set")
    subprocess.run([executable, verb], check=True, timeout=60, stdout=sys.stderr)


def in_background(function, *arguments):
    thread = threading.Thread(target=function, args=arguments, daemon=True)
    thread.start()
    return thread


def _answers(server):
    host, port = server.rsplit(":", 1)
    try:
        socket.create_connection((host, int(port)), 1).close()
        return True
    except OSError:
        return False


def _attempt(name, function):
    """Runs one test with a deadline: None when it passed, else its `Exception`."""
    outcome = []

    def body():
        test = None
        try:
            test = Test(name)
            function(test)
            outcome.append(None)
        except Exception as error:  # pylint: disable=broad-except
            outcome.append(error)
        finally:
            if test:
                test.close()

    thread = in_background(body)
    thread.join(TEST_SECONDS_MAX)
    return outcome[0] if outcome else TimeoutError(f"not done after {TEST_SECONDS_MAX} s")


def _attempts(name, function):
    """A test is about one thing, and not about what a death under it does beside that: then it is played again, at a
    path of its own. What must hold through deaths is told in `deaths`, which is played once."""
    for attempt in range(ATTEMPTS):
        before = DEATHS and os.path.getsize(DEATHS)
        error = _attempt(name if attempt == 0 else f"{name}.again{attempt}", function)
        if not error or isinstance(error, Skip) or not DEATHS or name.startswith("deaths."):
            break
        # Returns when a death that is under way is over, and counted.
        _raise_server()
        if os.path.getsize(DEATHS) == before:
            break
        print(f"# {name} met a death: {_reason(error)}")
    return error


def _raise_server():
    """A test that failed may have left the server down, which is not the next one's fault."""
    with contextlib.suppress(Exception):
        control("resume")
    with contextlib.suppress(Exception):
        control("start")


def _reason(error):
    text = str(error) or type(error).__name__
    if not isinstance(error, AssertionError):
        text = f"{type(error).__name__}: {text}"
    return " ".join(text.split())


def run(modules, only):
    """Runs the public functions of the modules in the order they are written in."""
    logging.basicConfig(level=logging.CRITICAL)
    failed = False
    for module in modules:
        tests = [f for n, f in vars(module).items() if getattr(f, "__module__", "") == module.__name__
                 and callable(f) and not n.startswith("_") and not isinstance(f, type)]
        for function in tests:
            name = f"{module.__name__.split('.')[-1]}.{function.__name__}"
            if only and not any(part in name for part in only):
                continue
            started = time.monotonic()
            error = _attempts(name, function)
            if isinstance(error, Skip):
                print(f"skip {name} - {error}")
            elif error:
                failed = True
                print(f"not ok {name} - {_reason(error)}")
                traceback.print_exception(error, file=sys.stderr)
                _raise_server()
            else:
                print(f"ok {name}")
            if time.monotonic() - started > 3:
                print(f"# {name} took {time.monotonic() - started:.1f} s")
    return 1 if failed else 0
