"""Groups: partitions are shared, each offset is committed once, members come and go."""

from confluent_kafka import ConsumerGroupState, TopicPartition

from suite.harness import PATIENCE, admin, consumer, new_topic, send, take, test, until


@test
def members_share_the_partitions(broker):
    topic = new_topic(broker, partitions=6)
    send(broker, topic, [(b"%d" % number, b"%d" % number) for number in range(600)])
    readers = [consumer(broker, group="sharing") for _ in range(3)]
    for reader in readers:
        reader.subscribe([topic])
    values = []

    def all_read():
        for reader in readers:
            values.extend(message.value() for message in reader.consume(100, timeout=0.05) if message.error() is None)
        return len(set(values)) >= 600 and all(len(reader.assignment()) == 2 for reader in readers)

    until(all_read, "three members with two partitions each, and all messages")
    assert set(values) == {b"%d" % number for number in range(600)}
    described = admin(broker).describe_consumer_groups(["sharing"])["sharing"].result(PATIENCE)
    assert (described.state, len(described.members)) == (ConsumerGroupState.STABLE, 3)
    for reader in readers:
        reader.close()


@test
def member_that_leaves_gives_its_partitions_up(broker):
    topic = new_topic(broker, partitions=4)
    stays, leaves = (consumer(broker, group="leaving") for _ in range(2))
    for reader in (stays, leaves):
        reader.subscribe([topic])

    def both():
        stays.poll(0.02), leaves.poll(0.02)
        return len(stays.assignment()) == 2 and len(leaves.assignment()) == 2

    until(both, "two members with two partitions each")
    leaves.close()
    until(lambda: stays.poll(0.02) or len(stays.assignment()) == 4, "the other one has all")
    stays.close()


@test
def reader_goes_on_where_its_group_was(broker):
    topic = new_topic(broker)
    send(broker, topic, [b"%d" % number for number in range(100)])
    first = consumer(broker, group="going-on")
    first.subscribe([topic])
    assert [message.value() for message in take(first, 40)] == [b"%d" % number for number in range(40)]
    first.commit(offsets=[TopicPartition(topic, 0, 40, metadata="forty")], asynchronous=False)
    first.close()
    second = consumer(broker, group="going-on")
    committed = second.committed([TopicPartition(topic, 0)], timeout=PATIENCE)[0]
    assert (committed.offset, committed.metadata) == (40, "forty")
    second.subscribe([topic])
    assert take(second, 1)[0].offset() == 40
    second.close()


@test
def committed_offsets_and_generations_outlive_the_broker(broker):
    topic = new_topic(broker, partitions=2)
    send(broker, topic, [(b"%d" % number, b"%d" % number) for number in range(100)])
    reader = consumer(broker, group="outliving")
    reader.subscribe([topic])
    take(reader, 100)
    reader.commit(asynchronous=False)
    ends = {at.partition: at.offset for at in reader.position(reader.assignment())}
    broker.restart()
    send(broker, topic, [(b"%d" % number, b"again") for number in range(100)])
    assert [message.value() for message in take(reader, 100)] == [b"again"] * 100
    reader.close()
    later = consumer(broker, group="outliving")
    parts = [TopicPartition(topic, number) for number in range(2)]
    assert {at.partition: at.offset for at in later.committed(parts, timeout=PATIENCE)} == ends
    later.close()


@test
def groups_are_listed_and_deleted(broker):
    topic = new_topic(broker)
    send(broker, topic, [b"one"])
    reader = consumer(broker, group="short-lived")
    reader.subscribe([topic])
    take(reader, 1)
    reader.commit(asynchronous=False)
    listed = admin(broker).list_consumer_groups().result(PATIENCE)
    assert "short-lived" in {group.group_id for group in listed.valid} and not listed.errors
    reader.close()
    admin(broker).delete_consumer_groups(["short-lived"])["short-lived"].result(PATIENCE)
    listed = admin(broker).list_consumer_groups().result(PATIENCE)
    assert "short-lived" not in {group.group_id for group in listed.valid}
