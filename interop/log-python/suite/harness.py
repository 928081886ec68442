"""Tests are functions that take a broker. Those that are coroutines are of aiokafka, the others of kafka-python."""

import asyncio
import inspect
import itertools
import sys
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import OffsetSpec

PATIENCE = 30
TEST_SECONDS_MAX = 90
AT_ONCE = 6

tests = []
names = itertools.count(1)


def test(function):
    tests.append(function)
    return function


def run(broker, wanted):
    """
    Tests of `deaths` come first and one by one, while the broker has few topics; then those of aiokafka several at a time.
    Those of kafka-python follow one by one: its threads hinder each other.
    """
    chosen = [(name_of(function), function) for function in tests]
    chosen = [(name, function) for name, function in chosen if not wanted or any(part in name for part in wanted)]
    alone = [each for each in chosen if each[0].startswith("deaths.")]
    failed = sum(report(broker, *each) for each in alone)
    together = [each for each in chosen if each not in alone and inspect.iscoroutinefunction(each[1])]
    with ThreadPoolExecutor(AT_ONCE) as executor:
        failed += sum(executor.map(lambda each: report(broker, *each), together))
    return failed + sum(report(broker, *each) for each in chosen if each not in alone and each not in together)


def name_of(function):
    return f"{function.__module__.split('.')[-1]}.{function.__name__}"


def report(broker, name, function):
    began = time.monotonic()
    try:
        if inspect.iscoroutinefunction(function):
            asyncio.run(asyncio.wait_for(function(broker), TEST_SECONDS_MAX))
        else:
            function(broker)
        print("ok", name, flush=True)
        failed = 0
    except BaseException as error:  # A suite goes on with its next test.
        failed = 1
        traceback.print_exc(file=sys.stderr)
        print("not ok", name, "-", f"{type(error).__name__}: {error}".replace("\n", " "), flush=True)
        raise_broker(broker)
    if time.monotonic() - began > 10:
        print(f"# {name} took {time.monotonic() - began:.0f} s", flush=True)
    return failed


def raise_broker(broker):
    """A test that failed may have left the broker down, which is not the next one's fault."""
    for verb in ("resume", "start"):
        try:
            broker.control(verb)
        except Exception as error:
            print(verb, error, file=sys.stderr)


def until(condition, what):
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"not within {PATIENCE} s: {what}")


async def until_async(condition, what):
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        value = condition()
        if inspect.isawaitable(value):
            value = await value
        if value:
            return value
        await asyncio.sleep(0.02)
    raise AssertionError(f"not within {PATIENCE} s: {what}")


def refused(error, action):
    try:
        action()
    except error as refusal:
        return refusal
    raise AssertionError(f"it was not refused with {error.__name__}")


def fresh(what):
    return f"{what}-{next(names)}-{time.time_ns() % 1_000_000}"


def admin(broker):
    return KafkaAdminClient(bootstrap_servers=broker.address)


def new_topic(broker, partitions=1, **configs):
    name = fresh("topic")
    settings = {key.replace("_", "."): value for key, value in configs.items()}
    client = admin(broker)
    client.create_topics({name: {"num_partitions": partitions, "replication_factor": 1, "configs": settings}}, wait_for_metadata=True)
    until(lambda: served(client, name, partitions), f"topic {name}")
    client.close()
    return name


def served(client, name, partitions):
    try:
        client.list_partition_offsets({TopicPartition(name, number): OffsetSpec.LATEST for number in range(partitions)})
        return True
    except Exception:
        return False


def producer(broker, **settings):
    return KafkaProducer(bootstrap_servers=broker.address, **settings)


def consumer(broker, *topics, **settings):
    """
    A consumer that knows the partitions of its topics before it joins its group. If kafka-python joins without, its leader
    assigns nothing, joins again, and may drop the answer to that when a `poll` with a short timeout ends meanwhile.
    """
    usual = {"auto_offset_reset": "earliest", "enable_auto_commit": False, "session_timeout_ms": 6000, "heartbeat_interval_ms": 300}
    reader = KafkaConsumer(*topics, bootstrap_servers=broker.address, **{**usual, **settings})
    for topic in topics:
        until(lambda: reader.partitions_for_topic(topic), f"the partitions of {topic}")
    return reader


def send(broker, topic, values, partition=None, **settings):
    """Sends values and returns where each is."""
    maker = producer(broker, **settings)
    futures = [maker.send(topic, value, partition=partition) for value in values]
    maker.flush(PATIENCE)
    places = [future.get(PATIENCE) for future in futures]
    maker.close()
    return places


def take(reader, count):
    records = []
    deadline = time.monotonic() + PATIENCE
    while len(records) < count:
        assert time.monotonic() < deadline, f"{len(records)} of {count} records came"
        for part in reader.poll(200).values():
            records.extend(part)
    return records


def read_all(broker, topic, partitions=1):
    """What a reader of committed records finds, once no transaction is open."""
    parts = [TopicPartition(topic, number) for number in range(partitions)]
    client = admin(broker)

    def ends(isolation):
        found = client.list_partition_offsets({part: OffsetSpec.LATEST for part in parts}, isolation_level=isolation)
        return {part: at.offset for part, at in found.items()}

    until(lambda: ends("read_committed") == ends("read_uncommitted"), "the end of the transactions")
    last = ends("read_uncommitted")
    client.close()
    reader = consumer(broker, isolation_level="read_committed")
    reader.assign(parts)
    reader.seek_to_beginning(*parts)
    records = []

    def all_read():
        for part in reader.poll(200).values():
            records.extend(part)
        return all(reader.position(part) >= last[part] for part in parts)

    until(all_read, f"the ends of {topic}")
    reader.close()
    return sorted(records, key=lambda record: (record.partition, record.offset))


def numbers(begin, end):
    return [b"%d" % number for number in range(begin, end)]
