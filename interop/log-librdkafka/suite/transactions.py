"""Transactions: all or nothing, with offsets too; old producers are fenced."""

from confluent_kafka import KafkaException, TopicPartition

from suite.harness import PATIENCE, admin, consumer, fresh, new_topic, producer, read_committed, send, take, test, until


def begun(broker, identity):
    maker = producer(broker, transactional_id=identity)
    maker.init_transactions(PATIENCE)
    return maker


@test
def committed_is_read_and_aborted_is_not(broker):
    topic, maker = new_topic(broker, partitions=2), begun(broker, fresh("tx"))
    expected = []
    for number in range(10):
        maker.begin_transaction()
        for part in range(4):
            maker.produce(topic, b"%d.%d" % (number, part), partition=part % 2)
        if number % 2 == 0:
            maker.commit_transaction(PATIENCE)
            expected += [b"%d.%d" % (number, part) for part in range(4)]
        else:
            maker.flush(PATIENCE)
            maker.abort_transaction(PATIENCE)
    assert sorted(message.value() for message in read_committed(broker, topic, 2)) == sorted(expected)


@test
def offsets_commit_with_the_transaction_or_not_at_all(broker):
    source, topic, group = new_topic(broker), new_topic(broker), fresh("group")
    send(broker, source, [b"%d" % number for number in range(40)])
    reader, maker = consumer(broker, group=group), begun(broker, fresh("tx"))
    reader.subscribe([source])
    done = 0
    for number in range(5):
        messages = take(reader, 10)[:10]
        maker.begin_transaction()
        for message in messages:
            maker.produce(topic, message.value())
        maker.send_offsets_to_transaction([TopicPartition(source, 0, messages[-1].offset() + 1)], reader.consumer_group_metadata(), PATIENCE)
        if number == 1:
            maker.abort_transaction(PATIENCE)
            reader.seek(TopicPartition(source, 0, 10))
        else:
            maker.commit_transaction(PATIENCE)
            done += 10
            until(lambda: reader.committed([TopicPartition(source, 0)], timeout=PATIENCE)[0].offset == done, f"offset {done}")
    assert [message.value() for message in read_committed(broker, topic)] == [b"%d" % number for number in range(40)]
    reader.close()


@test
def successor_fences_its_predecessor(broker):
    topic, identity = new_topic(broker), fresh("tx")
    old = begun(broker, identity)
    old.begin_transaction()
    old.produce(topic, b"left open")
    old.flush(PATIENCE)
    begun(broker, identity)
    try:
        old.produce(topic, b"late")
        old.commit_transaction(PATIENCE)
    except KafkaException as error:
        assert error.args[0].fatal(), error
    else:
        raise AssertionError("the old producer is not fenced")
    assert read_committed(broker, topic) == []


@test
def open_transaction_holds_readers_of_committed_records(broker):
    topic, maker = new_topic(broker), begun(broker, fresh("tx"))
    maker.begin_transaction()
    maker.produce(topic, b"inside")
    maker.flush(PATIENCE)
    send(broker, topic, [b"behind"])
    reader = consumer(broker, isolation_level="read_committed")
    reader.assign([TopicPartition(topic, 0, 0)])
    assert reader.poll(0.5) is None
    maker.commit_transaction(PATIENCE)
    assert [message.value() for message in take(reader, 2)] == [b"inside", b"behind"]
    reader.close()


@test
def transactional_offsets_are_listed_for_an_administrator(broker):
    topic, group, maker = new_topic(broker), fresh("group"), begun(broker, fresh("tx"))
    reader = consumer(broker, group=group)
    reader.subscribe([topic])
    until(lambda: reader.poll(0.05) or reader.assignment(), "an assignment")
    maker.begin_transaction()
    maker.send_offsets_to_transaction([TopicPartition(topic, 0, 5)], reader.consumer_group_metadata(), PATIENCE)
    maker.commit_transaction(PATIENCE)
    reader.close()
    from confluent_kafka import ConsumerGroupTopicPartitions

    def listed():
        found = admin(broker).list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])[group].result(PATIENCE)
        return [at.offset for at in found.topic_partitions] == [5]

    until(listed, "the offset")
