"""Tests by name, and the servers that they are given."""

import os
import subprocess
import sys
import time
import traceback
import uuid

SERVERS = os.environ.get("OBJECTS_SERVERS", "")
CONTROL = os.environ.get("OBJECTS_CONTROL", "")
TESTS = []


def test(function):
    """A test: its name is FEATURE.BEHAVIOUR, the module's name and the function's."""
    TESTS.append((f"{function.__module__.rpartition('.')[2]}.{function.__name__}", function))
    return function


def control(*words):
    """Drives the servers."""
    done = subprocess.run([CONTROL, *words], check=True, capture_output=True, text=True, timeout=60)
    return done.stdout.strip()


def fresh(name="x"):
    """A name that no other test uses."""
    return f"{name}-{uuid.uuid4().hex[:8]}"


def eventually(condition, seconds=20.0):
    """Waits until it is true."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("it did not become true in time")
        time.sleep(0.02)


def refused(slug, call, *args, **named):
    """Checks that a call is refused by that name, and gives the problem."""
    from diwan import Problem
    try:
        result = call(*args, **named)
    except Problem as problem:
        assert problem.slug == slug, f"{problem.slug} in place of {slug}"
        return problem
    raise AssertionError(f"{result} in place of {slug}")


def main():
    words, failed = sys.argv[1:], False
    for name, function in TESTS:
        if words and not any(word in name for word in words):
            continue
        began = time.monotonic()
        try:
            control("start")
            function()
            print(f"ok {name}", flush=True)
        except Exception as error:  # noqa: BLE001
            failed = True
            traceback.print_exc()
            print(f"not ok {name} - {type(error).__name__}: {error}".replace("\n", " "), flush=True)
        print(f"# {name} {time.monotonic() - began:.1f} s", file=sys.stderr, flush=True)
    sys.exit(failed)
