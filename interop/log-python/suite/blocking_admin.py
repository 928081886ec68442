"""kafka-python: administration."""

from kafka import OffsetAndMetadata, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, OffsetSpec
from kafka.errors import TopicAlreadyExistsError, UnknownTopicOrPartitionError

from suite.harness import admin, fresh, new_topic, numbers, read_all, refused, send, test, until


@test
def topics_are_made_grown_and_deleted(broker):
    client, topic = admin(broker), new_topic(broker, 2)
    assert topic in client.list_topics()
    refused(TopicAlreadyExistsError, lambda: client.create_topics({topic: {"num_partitions": 1, "replication_factor": 1}}))
    client.create_partitions({topic: 5})
    until(lambda: len(client.describe_topics([topic])[0]["partitions"]) == 5, "five partitions")
    client.delete_topics([topic])
    until(lambda: topic not in client.list_topics(), "it is gone")
    refused(UnknownTopicOrPartitionError, lambda: client.delete_topics([topic]))
    client.close()


@test
def settings_are_described_and_altered(broker):
    client, topic = admin(broker), new_topic(broker, retention_ms="7000")

    def value():
        described = client.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])
        return described["topic"][topic]["retention.ms"]["value"]

    assert value() == "7000"
    client.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, configs={"retention.ms": "8000"})])
    until(lambda: value() == "8000", "the new value")
    client.close()


@test
def records_are_deleted_and_offsets_listed(broker):
    client, topic = admin(broker), new_topic(broker)
    part = TopicPartition(topic, 0)
    send(broker, topic, numbers(0, 100))
    client.delete_records({part: 30})
    assert client.list_partition_offsets({part: OffsetSpec.EARLIEST})[part].offset == 30
    assert [record.value for record in read_all(broker, topic)] == numbers(30, 100)
    client.close()


@test
def offsets_of_groups_are_set_and_groups_deleted(broker):
    client, topic, group = admin(broker), new_topic(broker), fresh("group")
    part = TopicPartition(topic, 0)
    client.alter_group_offsets(group, {part: OffsetAndMetadata(7, "seven", -1)})
    assert client.list_group_offsets({group: None})[group][part].offset == 7
    assert group in {each["group_id"] for each in client.list_groups()}
    client.delete_groups([group])
    assert group not in {each["group_id"] for each in client.list_groups()}
    client.close()


@test
def cluster_and_disks_are_described(broker):
    client, topic = admin(broker), new_topic(broker)
    cluster = client.describe_cluster()
    assert len(cluster["brokers"]) == 1 and len(cluster["cluster_id"]) == 22, cluster
    assert topic in str(client.describe_log_dirs())
    assert "transaction.version" in str(client.describe_features())
    client.close()
