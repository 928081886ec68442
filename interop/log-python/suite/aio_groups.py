"""aiokafka: groups, transactions, administration."""

import asyncio

from aiokafka import TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from aiokafka.errors import ProducerFenced

from suite.aio_records import producer_of, reader_of, send_all
from suite.harness import fresh, new_topic, numbers, read_all, test, until_async


@test
async def every_assignor_shares_the_partitions(broker):
    for assignor in (RangePartitionAssignor, RoundRobinPartitionAssignor, StickyPartitionAssignor):
        topic, group = new_topic(broker, 4), fresh("group")
        readers = [reader_of(broker, topic, group_id=group, partition_assignment_strategy=[assignor]) for _ in range(2)]
        await asyncio.gather(*(reader.start() for reader in readers))
        try:
            await until_async(lambda: all(len(reader.assignment()) == 2 for reader in readers), "two partitions each")
            await send_all(broker, topic, numbers(0, 100))
            values = []

            async def all_came():
                for reader in readers:
                    for part in (await reader.getmany(timeout_ms=100)).values():
                        values.extend(record.value for record in part)
                return sorted(values) == sorted(numbers(0, 100))

            await until_async(all_came, "all values")
        finally:
            await asyncio.gather(*(reader.stop() for reader in readers))


@test
async def group_goes_on_where_it_was(broker):
    topic, group = new_topic(broker), fresh("group")
    await send_all(broker, topic, numbers(0, 30))
    for number in range(3):
        async with reader_of(broker, topic, group_id=group) as reader:
            values = [(await reader.getone()).value for _ in range(10)]
            assert values == numbers(number * 10, number * 10 + 10)
            await reader.commit({TopicPartition(topic, 0): (number * 10 + 10, "here")})


@test
async def transactions_are_all_or_nothing(broker):
    source, topic, group = new_topic(broker), new_topic(broker), fresh("group")
    await send_all(broker, source, numbers(0, 10))
    part = TopicPartition(source, 0)
    async with producer_of(broker, transactional_id=fresh("tx")) as maker:
        async with reader_of(broker, source, group_id=group, isolation_level="read_committed") as reader:
            for number in range(6):
                await maker.begin_transaction()
                await maker.send_and_wait(topic, b"%d" % number)
                await maker.send_offsets_to_transaction({part: number + 1}, group)
                if number % 2 == 0:
                    await maker.commit_transaction()
                else:
                    await maker.abort_transaction()
            async def committed():
                return await reader.committed(part) == 5

            await until_async(committed, "the offset of the last committed transaction")
    assert [record.value for record in read_all(broker, topic)] == [b"0", b"2", b"4"]


@test
async def successor_fences_its_predecessor(broker):
    topic, identity = new_topic(broker), fresh("tx")
    async with producer_of(broker, transactional_id=identity) as old:
        await old.begin_transaction()
        await old.send_and_wait(topic, b"left open")
        async with producer_of(broker, transactional_id=identity):
            try:
                await old.send_and_wait(topic, b"late")
                await old.commit_transaction()
            except ProducerFenced:
                pass
            else:
                raise AssertionError("the old one is not fenced")
    assert read_all(broker, topic) == []


@test
async def topics_groups_and_settings_are_administered(broker):
    client, topic, group = AIOKafkaAdminClient(bootstrap_servers=broker.address), fresh("topic"), fresh("group")
    await client.start()
    try:
        await client.create_topics([NewTopic(topic, 2, 1, topic_configs={"retention.ms": "7000"})])

        async def listed():
            return topic in await client.list_topics()

        await until_async(listed, "it is listed")
        described = await client.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])
        assert "7000" in str(described[0])
        await client.create_partitions({topic: NewPartitions(3)})
        await send_all(broker, topic, numbers(0, 10))
        await client.delete_records({TopicPartition(topic, 0): RecordsToDelete(before_offset=-1)})
        async with reader_of(broker, topic, group_id=group) as reader:
            await until_async(reader.assignment, "an assignment")
            await reader.commit({TopicPartition(topic, 0): 3})
            groups = await client.list_consumer_groups()
            assert group in {each[0] for each in groups}, groups
            assert "Stable" in str(await client.describe_consumer_groups([group]))
            offsets = await client.list_consumer_group_offsets(group)
            assert offsets[TopicPartition(topic, 0)].offset == 3
        await client.delete_topics([topic])
    finally:
        await client.close()
