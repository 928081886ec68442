"""kafka-python: what is sent is what is read; positions and offsets of a reader."""

import time

from kafka import TopicPartition
from kafka.errors import MessageSizeTooLargeError

from suite.harness import PATIENCE, consumer, new_topic, numbers, producer, read_all, refused, send, take, test


@test
def values_are_read_back_in_order(broker):
    topic = new_topic(broker)
    assert [place.offset for place in send(broker, topic, numbers(0, 2000))] == list(range(2000))
    assert [record.value for record in read_all(broker, topic)] == numbers(0, 2000)


@test
def every_compression_and_acks_is_read_back(broker):
    topic = new_topic(broker)
    for compression in (None, "gzip", "snappy", "lz4", "zstd"):
        for acks in (0, 1, "all"):
            settings = {"acks": acks, "compression_type": compression, "enable_idempotence": acks == "all"}
            maker = producer(broker, **settings)
            for number in numbers(0, 100):
                maker.send(topic, number)
            maker.flush(PATIENCE)
            maker.close()
    records = read_all(broker, topic)
    assert len(records) == 1500, len(records)


@test
def keys_headers_times_and_nulls_are_kept(broker):
    topic, maker, when = new_topic(broker), producer(broker), int(time.time() * 1000) - 5000
    maker.send(topic, b"value", key=b"key", headers=[("a", b"1"), ("b", b"")], timestamp_ms=when).get(PATIENCE)
    maker.send(topic, None, key=b"key").get(PATIENCE)
    full, tombstone = read_all(broker, topic)
    assert (full.key, full.value, full.timestamp, list(full.headers)) == (b"key", b"value", when, [("a", b"1"), ("b", b"")])
    assert (tombstone.key, tombstone.value) == (b"key", None)
    maker.close()


@test
def too_large_a_record_is_refused(broker):
    topic = new_topic(broker, max_message_bytes="10000")
    refused(MessageSizeTooLargeError, lambda: send(broker, topic, [b"x" * 20000]))


@test
def reader_seeks_and_pauses(broker):
    topic = new_topic(broker)
    part = TopicPartition(topic, 0)
    send(broker, topic, numbers(0, 100))
    reader = consumer(broker)
    reader.assign([part])
    reader.seek(part, 40)
    assert take(reader, 1)[0].value == b"40"
    reader.seek_to_end(part)
    assert reader.position(part) == 100
    reader.seek_to_beginning(part)
    reader.pause(part)
    assert reader.poll(300) == {}
    reader.resume(part)
    assert take(reader, 1)[0].value == b"0"
    assert (reader.beginning_offsets([part])[part], reader.end_offsets([part])[part]) == (0, 100)
    reader.close()


@test
def offsets_are_found_by_time(broker):
    topic, maker, begin = new_topic(broker), producer(broker), int(time.time() * 1000) - 1_000_000
    part = TopicPartition(topic, 0)
    for number in range(50):
        maker.send(topic, b"%d" % number, timestamp_ms=begin + number * 1000)
    maker.flush(PATIENCE)
    reader = consumer(broker)
    for after, offset in ((-5, 0), (1, 1), (20_500, 21), (49_000, 49)):
        assert reader.offsets_for_times({part: begin + after})[part].offset == offset, after
    assert reader.offsets_for_times({part: begin + 49_001})[part] is None
    maker.close(), reader.close()
