"""What is sent is what is read: values, keys, headers, timestamps, every compression, both ends of a log."""

import time

from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, TopicPartition

from suite.harness import consumer, new_topic, producer, send, take, test


def read_all(broker, topic, count, partition=0):
    reader = consumer(broker)
    reader.assign([TopicPartition(topic, partition, OFFSET_BEGINNING)])
    messages = take(reader, count)
    reader.close()
    return messages


@test
def values_are_read_back_in_order(broker):
    topic = new_topic(broker)
    values = [b"value %d" % number for number in range(5000)]
    acknowledged = send(broker, topic, values)
    assert [offset for _, offset, _ in acknowledged] == list(range(5000))
    messages = read_all(broker, topic, 5000)
    assert [message.value() for message in messages] == values
    assert [message.offset() for message in messages] == list(range(5000))


@test
def every_compression_passes_through(broker):
    for compression in ("none", "gzip", "snappy", "lz4", "zstd"):
        topic = new_topic(broker)
        values = [compression.encode() * 50 + b" %d" % number for number in range(500)]
        send(broker, topic, values, compression_type=compression)
        assert [message.value() for message in read_all(broker, topic, 500)] == values, compression


@test
def keys_headers_and_tombstones_are_kept(broker):
    topic = new_topic(broker)
    maker = producer(broker)
    maker.produce(topic, b"value", key=b"key", headers=[("a", b"1"), ("b", None), ("a", b"2")])
    maker.produce(topic, None, key=b"key")
    maker.produce(topic, b"", key=None)
    assert maker.flush(30) == 0
    first, tombstone, empty = read_all(broker, topic, 3)
    assert first.headers() == [("a", b"1"), ("b", None), ("a", b"2")], first.headers()
    assert (tombstone.key(), tombstone.value()) == (b"key", None)
    assert (empty.key(), empty.value()) == (None, b"")


@test
def large_messages_pass_up_to_the_limit_and_no_further(broker):
    topic = new_topic(broker)
    big = b"x" * 1_000_000
    assert send(broker, topic, [big], message_max_bytes=4_000_000)[0][1] == 0
    maker, errors = producer(broker, message_max_bytes=4_000_000), []
    maker.produce(topic, b"y" * 2_000_000, on_delivery=lambda error, _: errors.append(error))
    maker.flush(30)
    assert errors[0] is not None and errors[0].name() == "MSG_SIZE_TOO_LARGE", errors
    assert read_all(broker, topic, 1)[0].value() == big


@test
def many_partitions_keep_their_own_offsets(broker):
    topic = new_topic(broker, partitions=12)
    acknowledged = send(broker, topic, [(b"%d" % number, b"%d" % number) for number in range(3000)])
    for partition in range(12):
        offsets = sorted(offset for at, offset, _ in acknowledged if at == partition)
        assert offsets == list(range(len(offsets))) and offsets, partition


@test
def offsets_are_found_by_time(broker):
    topic = new_topic(broker)
    maker, begin = producer(broker, linger_ms=0), int(time.time() * 1000) - 100_000
    for number in range(100):
        maker.produce(topic, b"%d" % number, timestamp=begin + number * 1000)
        if number % 10 == 9:
            maker.flush(30)
    reader = consumer(broker)
    for wanted, expected in ((begin - 5, 0), (begin, 0), (begin + 1, 1), (begin + 55_000, 55), (begin + 99_000, 99)):
        found = reader.offsets_for_times([TopicPartition(topic, 0, wanted)], timeout=30)[0]
        assert found.offset == expected, (wanted - begin, found.offset)
    late = reader.offsets_for_times([TopicPartition(topic, 0, begin + 99_001)], timeout=30)[0]
    assert late.offset == OFFSET_END, late.offset
    assert reader.get_watermark_offsets(TopicPartition(topic, 0), timeout=30) == (0, 100)
    reader.close()


@test
def reader_waits_for_what_comes(broker):
    topic = new_topic(broker)
    reader = consumer(broker, fetch_wait_max_ms=5000)
    reader.assign([TopicPartition(topic, 0, 0)])
    assert reader.poll(0.5) is None
    begin = time.monotonic()
    send(broker, topic, [b"now"])
    assert take(reader, 1)[0].value() == b"now"
    assert time.monotonic() - begin < 3
    reader.close()


@test
def idempotent_producer_is_served(broker):
    topic = new_topic(broker, partitions=3)
    values = [b"%d" % number for number in range(3000)]
    acknowledged = send(broker, topic, values, enable_idempotence=True)
    assert sorted(value for _, _, value in acknowledged) == sorted(values)
    assert len({(partition, offset) for partition, offset, _ in acknowledged}) == 3000
