"""What librdkafka's admin client can ask for beyond topics and groups."""

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import (
    AclBinding, AclOperation, AclPermissionType, AlterConfigOpType, ConfigEntry, ConfigResource, NewPartitions, OffsetSpec,
    ResourcePatternType, ResourceType, ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion,
)

from suite.harness import PATIENCE, admin, fresh, new_topic, read_committed, send, test, until


def value_of(broker, resource, name):
    return admin(broker).describe_configs([resource])[resource].result(PATIENCE)[name].value


@test
def settings_are_described_and_altered(broker):
    topic = new_topic(broker, config={"retention.ms": "7000"})
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
    assert value_of(broker, resource, "retention.ms") == "7000"
    entry = ConfigEntry("retention.ms", "8000", incremental_operation=AlterConfigOpType.SET)
    change = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=[entry])
    admin(broker).incremental_alter_configs([change])[change].result(PATIENCE)
    until(lambda: value_of(broker, resource, "retention.ms") == "8000", "the new value")


@test
def topics_grow_and_records_are_deleted(broker):
    topic = new_topic(broker)
    part = TopicPartition(topic, 0, 30)
    send(broker, topic, [b"%d" % number for number in range(100)])
    assert admin(broker).delete_records([part])[part].result(PATIENCE).low_watermark == 30
    assert [message.value() for message in read_committed(broker, topic)] == [b"%d" % number for number in range(30, 100)]
    admin(broker).create_partitions([NewPartitions(topic, 3)])[topic].result(PATIENCE)
    until(lambda: len(admin(broker).list_topics(topic, timeout=PATIENCE).topics[topic].partitions) == 3, "three partitions")


@test
def offsets_of_every_kind_are_listed(broker):
    topic = new_topic(broker)
    send(broker, topic, [b"x"] * 5)
    part = TopicPartition(topic, 0)
    for spec, offset in ((OffsetSpec.earliest(), 0), (OffsetSpec.latest(), 5)):
        assert admin(broker).list_offsets({part: spec})[part].result(PATIENCE).offset == offset


@test
def cluster_is_described(broker):
    described = admin(broker).describe_cluster().result(PATIENCE)
    assert len(described.nodes) == 1 and len(described.cluster_id) == 22


@test
def acls_need_an_authorizer(broker):
    binding = AclBinding(ResourceType.TOPIC, "t", ResourcePatternType.LITERAL, "User:a", "*", AclOperation.READ, AclPermissionType.ALLOW)
    try:
        admin(broker).create_acls([binding])[binding].result(PATIENCE)
    except KafkaException as error:
        assert error.args[0].name() == "SECURITY_DISABLED", error
    else:
        raise AssertionError("it was not refused")


@test
def users_of_scram_are_kept(broker):
    user = fresh("user")
    secret = UserScramCredentialUpsertion(user, ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 8192), b"secret")
    admin(broker).alter_user_scram_credentials([secret])[user].result(PATIENCE)

    def known():
        try:
            found = admin(broker).describe_user_scram_credentials([user])[user].result(PATIENCE)
        except KafkaException:
            return False
        return found.scram_credential_infos[0].iterations == 8192

    until(known, "the user")
