"""The broker is killed while it is used: nothing that was acknowledged is lost, and of an idempotent producer nothing is twice."""

import threading

from confluent_kafka import OFFSET_BEGINNING, TopicPartition

from suite.harness import consumer, new_topic, producer, take, test


def deaths_of(broker):
    """Kafka takes seconds to start."""
    return 2 if broker.is_kafka else 5


def sent_through_deaths(broker, topic, deaths, **config):
    """Sends without a pause while the broker is killed so often. Returns what was acknowledged, by (partition, offset)."""
    acknowledged, errors, stopping = {}, [], threading.Event()
    maker = producer(broker, **config)

    def delivered(error, message):
        if error is None:
            place = (message.partition(), message.offset())
            assert place not in acknowledged, f"two messages at {place}"
            acknowledged[place] = message.value()
        else:
            errors.append(error)

    def go():
        number = 0
        while not stopping.is_set():
            try:
                maker.produce(topic, b"%d" % number, key=b"%d" % number, on_delivery=delivered)
                number += 1
            except BufferError:
                pass
            maker.poll(0.0005)

    thread = threading.Thread(target=go)
    thread.start()
    try:
        for _ in range(deaths):
            stopping.wait(0.4)
            broker.restart()
        stopping.wait(0.4)
    finally:
        stopping.set()
        thread.join()
    assert maker.flush(60) == 0 and not errors, errors[:3]
    return acknowledged


def read_back(broker, topic, partitions):
    reader = consumer(broker)
    found = {}
    for partition in range(partitions):
        at = TopicPartition(topic, partition, OFFSET_BEGINNING)
        _, end = reader.get_watermark_offsets(at, timeout=30)
        reader.assign([at])
        for message in take(reader, end) if end else []:
            found[(partition, message.offset())] = message.value()
    reader.close()
    return found


@test
def nothing_acknowledged_is_lost(broker):
    topic = new_topic(broker, partitions=4)
    acknowledged = sent_through_deaths(broker, topic, deaths_of(broker))
    found = read_back(broker, topic, 4)
    lost = [place for place, value in acknowledged.items() if found.get(place) != value]
    assert not lost and len(acknowledged) > 500, (len(acknowledged), lost[:5])


@test
def nothing_of_an_idempotent_producer_is_twice_or_out_of_order(broker):
    topic = new_topic(broker, partitions=2)
    acknowledged = sent_through_deaths(broker, topic, deaths_of(broker), enable_idempotence=True)
    found = read_back(broker, topic, 2)
    assert all(found.get(place) == value for place, value in acknowledged.items())
    for partition in range(2):
        values = [int(value) for (at, _), value in sorted(found.items()) if at == partition]
        assert values == sorted(set(values)), f"partition {partition}"
    assert len(found) == len(acknowledged) > 500, (len(found), len(acknowledged))
