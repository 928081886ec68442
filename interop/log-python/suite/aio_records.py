"""aiokafka: what is sent is what is read; positions and offsets of a reader."""

import time

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import MessageSizeTooLargeError

from suite.harness import new_topic, numbers, read_all, test


def reader_of(broker, *topics, **settings):
    usual = {"auto_offset_reset": "earliest", "enable_auto_commit": False, "session_timeout_ms": 6000, "heartbeat_interval_ms": 300}
    return AIOKafkaConsumer(*topics, bootstrap_servers=broker.address, **{**usual, **settings})


def producer_of(broker, **settings):
    return AIOKafkaProducer(bootstrap_servers=broker.address, **settings)


async def send_all(broker, topic, values, **settings):
    async with producer_of(broker, **settings) as maker:
        futures = [await maker.send(topic, value) for value in values]
        await maker.flush()
        return [await future for future in futures]


@test
async def every_compression_is_read_back(broker):
    for compression in (None, "gzip", "snappy", "lz4", "zstd"):
        topic = new_topic(broker)
        places = await send_all(broker, topic, numbers(0, 300), compression_type=compression, enable_idempotence=True)
        assert [place.offset for place in places] == list(range(300))
        assert [record.value for record in read_all(broker, topic)] == numbers(0, 300), compression


@test
async def every_acks_is_heeded(broker):
    topic = new_topic(broker)
    for acks in (0, 1, "all"):
        await send_all(broker, topic, numbers(0, 100), acks=acks)
    assert len(read_all(broker, topic)) == 300


@test
async def keys_headers_times_and_nulls_are_kept(broker):
    topic, when = new_topic(broker), int(time.time() * 1000) - 5000
    async with producer_of(broker) as maker:
        await maker.send_and_wait(topic, b"value", key=b"key", headers=[("a", b"1"), ("b", b"")], timestamp_ms=when)
        await maker.send_and_wait(topic, None, key=b"key")
    async with reader_of(broker, topic) as reader:
        full, tombstone = await reader.getone(), await reader.getone()
        assert (full.key, full.value, full.timestamp, full.headers) == (b"key", b"value", when, (("a", b"1"), ("b", b"")))
        assert (tombstone.key, tombstone.value) == (b"key", None)


@test
async def own_batches_are_sent(broker):
    topic = new_topic(broker)
    async with producer_of(broker) as maker:
        batch = maker.create_batch()
        for value in numbers(0, 50):
            batch.append(key=None, value=value, timestamp=None)
        future = await maker.send_batch(batch, topic, partition=0)
        await future
    assert [record.value for record in read_all(broker, topic)] == numbers(0, 50)


@test
async def too_large_a_record_is_refused(broker):
    topic = new_topic(broker, max_message_bytes="10000")
    try:
        await send_all(broker, topic, [b"x" * 20000])
    except MessageSizeTooLargeError:
        return
    raise AssertionError("it was not refused")


@test
async def reader_seeks_and_finds_offsets_by_time(broker):
    topic, begin = new_topic(broker), int(time.time() * 1000) - 1_000_000
    part = TopicPartition(topic, 0)
    async with producer_of(broker) as maker:
        for number in range(50):
            await maker.send_and_wait(topic, b"%d" % number, timestamp_ms=begin + number * 1000)
    async with reader_of(broker) as reader:
        reader.assign([part])
        reader.seek(part, 20)
        assert (await reader.getone()).value == b"20"
        await reader.seek_to_beginning(part)
        assert (await reader.getone()).value == b"0"
        await reader.seek_to_end(part)
        assert await reader.position(part) == 50
        assert (await reader.offsets_for_times({part: begin + 20_500}))[part].offset == 21
        assert (await reader.end_offsets([part]))[part] == 50
