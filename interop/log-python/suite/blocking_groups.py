"""kafka-python: groups and transactions."""

from kafka import OffsetAndMetadata, TopicPartition
from kafka.errors import KafkaError

from suite.harness import consumer, fresh, new_topic, numbers, producer, read_all, refused, send, take, test, until


@test
def members_share_the_partitions(broker):
    topic, group = new_topic(broker, 4), fresh("group")
    readers = [consumer(broker, topic, group_id=group) for _ in range(2)]
    values = set()

    def polled(done):
        def poll():
            for reader in readers:
                for part in reader.poll(50).values():
                    values.update(record.value for record in part)
            return done()

        return poll

    until(polled(lambda: all(len(reader.assignment()) == 2 for reader in readers)), "two partitions each")
    send(broker, topic, numbers(0, 200))
    until(polled(lambda: values == set(numbers(0, 200))), "all values")
    readers.pop().close()
    until(polled(lambda: len(readers[0].assignment()) == 4), "all partitions")
    readers[0].close()


@test
def group_goes_on_where_it_was(broker):
    topic, group = new_topic(broker), fresh("group")
    part = TopicPartition(topic, 0)
    send(broker, topic, numbers(0, 60))
    for number in range(3):
        reader = consumer(broker, topic, group_id=group, max_poll_records=20)
        assert [record.value for record in take(reader, 20)] == numbers(number * 20, number * 20 + 20)
        reader.commit({part: OffsetAndMetadata(number * 20 + 20, f"round {number}", -1)})
        assert reader.committed(part, metadata=True).metadata == f"round {number}"
        reader.close()


@test
def static_member_comes_back_to_its_partitions(broker):
    topic, group = new_topic(broker, 2), fresh("group")
    for _ in range(2):
        reader = consumer(broker, topic, group_id=group, group_instance_id="one")

        def assigned():
            reader.poll(50)
            return len(reader.assignment()) == 2

        until(assigned, "both partitions")
        reader.close()


@test
def transactions_are_all_or_nothing(broker):
    topic = new_topic(broker, 2)
    maker = producer(broker, transactional_id=fresh("tx"))
    maker.init_transactions()
    expected = []
    for number in range(8):
        maker.begin_transaction()
        for part in range(4):
            maker.send(topic, b"%d.%d" % (number, part), partition=part % 2)
        if number % 2 == 0:
            maker.commit_transaction()
            expected += [b"%d.%d" % (number, part) for part in range(4)]
        else:
            maker.abort_transaction()
    assert sorted(record.value for record in read_all(broker, topic, 2)) == sorted(expected)
    maker.close()


@test
def offsets_commit_with_the_transaction(broker):
    topic, target, group = new_topic(broker), new_topic(broker), fresh("group")
    part = TopicPartition(topic, 0)
    send(broker, topic, numbers(0, 50))
    reader = consumer(broker, topic, group_id=group)
    maker = producer(broker, transactional_id=fresh("tx"))
    maker.init_transactions()
    done = 0
    while done < 50:
        records = take(reader, 1)
        maker.begin_transaction()
        for record in records:
            maker.send(target, record.value)
        done += len(records)
        maker.send_offsets_to_transaction({part: OffsetAndMetadata(records[-1].offset + 1, "", -1)}, reader.group_metadata())
        maker.commit_transaction()
    until(lambda: reader.committed(part) == 50, "the offset")
    assert [record.value for record in read_all(broker, target)] == numbers(0, 50)
    reader.close(), maker.close()


@test
def successor_fences_its_predecessor(broker):
    topic, identity = new_topic(broker), fresh("tx")
    old, new = (producer(broker, transactional_id=identity) for _ in range(2))
    old.init_transactions()
    old.begin_transaction()
    old.send(topic, b"left open").get(30)
    new.init_transactions()

    def commit():
        old.send(topic, b"late")
        old.commit_transaction()

    refused(KafkaError, commit)
    assert read_all(broker, topic) == []
    new.close()
