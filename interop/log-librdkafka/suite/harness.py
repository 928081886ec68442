"""Tests are functions that take a broker; those of a module run on one broker, in the order in which they are written."""

import functools
import itertools
import sys
import time
import traceback

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

PATIENCE = 30
# A broker that is killed is no news.
QUIET = {"log_level": 2}


class Skip(Exception):
    """The test does not apply here; the message says why."""


tests = []
names = itertools.count(1)


def test(function):
    tests.append(function)
    return function


def run(broker, wanted):
    failed = 0
    for function in tests:
        name = f"{function.__module__.split('.')[-1]}.{function.__name__}"
        if wanted and not any(part in name for part in wanted):
            continue
        try:
            function(broker)
            print("ok", name)
        except Skip as reason:
            print("skip", name, "-", reason)
        except Exception as error:  # A suite goes on with its next test.
            failed += 1
            traceback.print_exc(file=sys.stderr)
            print("not ok", name, "-", f"{type(error).__name__}: {error}".replace("\n", " "))
    return failed


def until(condition, what):
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"not within {PATIENCE} s: {what}")


def fresh(what):
    return f"{what}-{next(names)}-{time.time_ns() % 1_000_000}"


@functools.cache
def admin(broker):
    return AdminClient({"bootstrap.servers": broker.address, **QUIET})


def new_topic(broker, partitions=1, config=None):
    name = fresh("topic")
    for future in admin(broker).create_topics([NewTopic(name, partitions, 1, config=config or {})]).values():
        future.result(PATIENCE)
    return name


def producer(broker, **config):
    settings = {**QUIET, "bootstrap.servers": broker.address, "linger.ms": 1, "message.timeout.ms": PATIENCE * 1000}
    return Producer({**settings, **{key.replace("_", "."): value for key, value in config.items()}})


def send(broker, topic, values, partition=-1, **config):
    """Sends values and returns where each came to stand, as (partition, offset, value)."""
    acknowledged = []
    maker = producer(broker, **config)

    def delivered(error, message):
        assert error is None, error
        acknowledged.append((message.partition(), message.offset(), message.value()))

    for value in values:
        key, payload = value if isinstance(value, tuple) else (None, value)
        while True:
            try:
                maker.produce(topic, payload, key=key, partition=partition, on_delivery=delivered)
                break
            except BufferError:
                maker.poll(0.05)
    left = maker.flush(PATIENCE)
    assert left == 0, f"{left} are not acknowledged"
    return acknowledged


def consumer(broker, group="readers", **config):
    settings = {
        **QUIET,
        "bootstrap.servers": broker.address,
        "group.id": group,
        "auto.offset.reset": "earliest",
        "session.timeout.ms": 6000,
        "heartbeat.interval.ms": 500,
        "enable.auto.commit": False,
    }
    settings.update({key.replace("_", "."): value for key, value in config.items()})
    return Consumer({key: value for key, value in settings.items() if value is not None})


def take(reader, count):
    """The next messages of a consumer, so many."""
    taken = []

    def more():
        for message in reader.consume(count - len(taken), timeout=0.1):
            if message.error() is None:
                taken.append(message)
            elif message.error().code() not in (KafkaError._PARTITION_EOF, KafkaError._TRANSPORT):
                raise AssertionError(message.error())
        return len(taken) >= count

    until(more, f"{count} messages, of which {len(taken)} came")
    return taken


def read_committed(broker, topic, partitions=1):
    """What a reader of committed records finds, up to a message that is sent to each partition now, which comes once no
    transaction is open."""
    end, messages = fresh("end").encode(), []
    reader = consumer(broker, isolation_level="read_committed")
    for partition in range(partitions):
        send(broker, topic, [end], partition=partition)
        reader.assign([TopicPartition(topic, partition, OFFSET_BEGINNING)])
        while True:
            message = take(reader, 1)[0]
            if message.value() == end:
                break
            messages.append(message)
    reader.close()
    return messages
