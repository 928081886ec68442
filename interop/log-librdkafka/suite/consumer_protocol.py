"""Groups whose coordinator assigns the partitions (KIP-848)."""

from confluent_kafka import TopicPartition

from suite.harness import PATIENCE, consumer, fresh, new_topic, send, take, test, until


def member(broker, group, **config):
    return consumer(broker, group=group, group_protocol="consumer", session_timeout_ms=None, heartbeat_interval_ms=None, **config)


@test
def members_share_the_partitions(broker):
    topic, group = new_topic(broker, partitions=6), fresh("group")
    readers, values = [member(broker, group) for _ in range(3)], []
    for reader in readers:
        reader.subscribe([topic])

    def polled(done):
        def poll():
            for reader in readers:
                values.extend(message.value() for message in reader.consume(50, timeout=0.05) if message.error() is None)
            return done()

        return poll

    until(polled(lambda: all(len(reader.assignment()) == 2 for reader in readers)), "two partitions each")
    send(broker, topic, [(b"%d" % number, b"%d" % number) for number in range(300)])
    until(polled(lambda: len(set(values)) == 300), "all values")
    assert len(values) == 300
    readers.pop().close()
    until(polled(lambda: sum(len(reader.assignment()) for reader in readers) == 6), "the partitions of the one that left")
    for reader in readers:
        reader.close()


@test
def range_assignor_can_be_asked_for(broker):
    topic, group = new_topic(broker, partitions=4), fresh("group")
    reader = member(broker, group, group_remote_assignor="range")
    reader.subscribe([topic])
    until(lambda: reader.poll(0.05) or len(reader.assignment()) == 4, "all partitions")
    reader.close()


@test
def topics_of_a_regular_expression_are_found_by_the_broker(broker):
    topic = new_topic(broker, partitions=2)
    reader = member(broker, fresh("group"))
    reader.subscribe([f"^{topic[:-1]}[{topic[-1]}]$"])
    until(lambda: reader.poll(0.05) or len(reader.assignment()) == 2, "both partitions")
    reader.close()


@test
def reader_goes_on_where_its_group_was(broker):
    topic, group = new_topic(broker), fresh("group")
    send(broker, topic, [b"%d" % number for number in range(30)])
    for number in range(3):
        reader = member(broker, group)
        reader.subscribe([topic])
        assert take(reader, 10)[0].offset() == number * 10
        reader.commit(offsets=[TopicPartition(topic, 0, number * 10 + 10)], asynchronous=False)
        assert reader.committed([TopicPartition(topic, 0)], timeout=PATIENCE)[0].offset == number * 10 + 10
        reader.close()
