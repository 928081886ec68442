"""Topics: made, made by use, refused with a reason, listed, deleted, made again."""

from confluent_kafka import KafkaException
from confluent_kafka.admin import NewTopic

from suite.harness import PATIENCE, admin, new_topic, send, test, until


def refusal(futures):
    try:
        next(iter(futures.values())).result(PATIENCE)
    except KafkaException as error:
        return error.args[0].name()
    raise AssertionError("it was not refused")


@test
def topic_is_made_with_its_settings_and_listed(broker):
    name = new_topic(broker, partitions=5, config={"retention.ms": "60000", "cleanup.policy": "delete"})
    listed = until(lambda: admin(broker).list_topics(timeout=PATIENCE).topics.get(name), "it is listed")
    assert sorted(listed.partitions) == [0, 1, 2, 3, 4]
    until(
        lambda: all(at.leader == 1 for at in admin(broker).list_topics(timeout=PATIENCE).topics[name].partitions.values()),
        "each partition has its leader",
    )


@test
def wrong_topics_are_refused_with_the_reason(broker):
    name = new_topic(broker)
    client = admin(broker)
    wrong = {
        "TOPIC_ALREADY_EXISTS": NewTopic(name, 1, 1),
        "TOPIC_EXCEPTION": NewTopic("not a name", 1, 1),
        "INVALID_PARTITIONS": NewTopic("none", 0, 1),
        "INVALID_REPLICATION_FACTOR": NewTopic("three", 1, 3),
        "INVALID_CONFIG": NewTopic("setting", 1, 1, config={"no.such.setting": "1"}),
    }
    for expected, topic in wrong.items():
        assert refusal(client.create_topics([topic])) == expected, topic


@test
def topic_is_made_by_use(broker):
    assert [offset for _, offset, _ in send(broker, "made-by-use", [b"one"])] == [0]


@test
def deleted_topic_is_gone_and_its_namesake_is_empty(broker):
    name = new_topic(broker)
    send(broker, name, [b"old"] * 10)
    admin(broker).delete_topics([name])[name].result(PATIENCE)
    until(lambda: name not in admin(broker).list_topics(timeout=PATIENCE).topics, "it is gone")
    assert refusal(admin(broker).delete_topics([name])) == "UNKNOWN_TOPIC_OR_PART"
    next(iter(admin(broker).create_topics([NewTopic(name, 1, 1)]).values())).result(PATIENCE)
    assert [offset for _, offset, _ in send(broker, name, [b"new"])] == [0]
