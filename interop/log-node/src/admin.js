// Administration.

import assert from 'node:assert/strict';
import kafkajs from 'kafkajs';
import { numbers, refused, waitFor } from './harness.js';

export default {
    async topics_are_made_grown_and_deleted(test) {
        const admin = await test.admin();
        const topic = await test.topic(2);
        assert.equal(await admin.createTopics({ topics: [{ topic, numPartitions: 2 }] }), false);
        await refused(admin.createTopics({ topics: [{ topic: 'not a name' }] }), 'INVALID_TOPIC_EXCEPTION');
        await admin.createPartitions({ topicPartitions: [{ topic, count: 5 }] });
        const partitions = async () => (await admin.fetchTopicMetadata({ topics: [topic] })).topics[0].partitions;
        await waitFor(async () => (await partitions()).length === 5, 'five partitions');
        assert.ok((await admin.listTopics()).includes(topic));
        await admin.deleteTopics({ topics: [topic] });
        await waitFor(async () => !(await admin.listTopics()).includes(topic), 'its end');
    },

    async settings_are_described_and_altered(test) {
        const admin = await test.admin();
        const topic = await test.topic(1, { 'retention.ms': '7000' });
        const resource = { type: kafkajs.ConfigResourceTypes.TOPIC, name: topic };
        const value = async () => (await admin.describeConfigs({ resources: [{ ...resource, configNames: ['retention.ms'] }] }))
            .resources[0].configEntries[0].configValue;
        assert.equal(await value(), '7000');
        await admin.alterConfigs({ resources: [{ ...resource, configEntries: [{ name: 'retention.ms', value: '8000' }] }] });
        await waitFor(async () => await value() === '8000', 'the new value');
    },

    async offsets_are_fetched_set_and_reset(test) {
        const admin = await test.admin();
        const topic = await test.topic();
        const groupId = test.fresh('group');
        const producer = await test.producer();
        const begin = Date.now() - 100_000;
        const messages = numbers(0, 10).map(value => ({ value, timestamp: String(begin + Number(value) * 1000) }));
        for (const message of messages) await producer.send({ topic, messages: [message] });
        assert.deepEqual(await admin.fetchTopicOffsets(topic), [{ partition: 0, offset: '10', high: '10', low: '0' }]);
        assert.deepEqual(await admin.fetchTopicOffsetsByTimestamp(topic, begin + 3500), [{ partition: 0, offset: '4' }]);
        await admin.setOffsets({ groupId, topic, partitions: [{ partition: 0, offset: '4' }] });
        const offset = async () => (await admin.fetchOffsets({ groupId, topics: [topic] }))[0].partitions[0].offset;
        assert.equal(await offset(), '4');
        await admin.resetOffsets({ groupId, topic, earliest: true });
        assert.notEqual(await offset(), '4');
        await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: '6' }] });
        assert.equal((await admin.fetchTopicOffsets(topic))[0].low, '6');
    },

    async cluster_is_described(test) {
        const admin = await test.admin();
        const cluster = await admin.describeCluster();
        assert.equal(cluster.brokers.length, 1);
        assert.equal(cluster.clusterId.length, 22);
        await refused(admin.describeAcls({
            resourceType: kafkajs.AclResourceTypes.ANY, resourcePatternType: kafkajs.ResourcePatternTypes.ANY,
            operation: kafkajs.AclOperationTypes.ANY, permissionType: kafkajs.AclPermissionTypes.ANY,
        }), 'SECURITY_DISABLED');
        assert.deepEqual(await admin.listPartitionReassignments({}), { topics: [] });
    },
};
