// Groups: partitions are shared, offsets are kept.

import assert from 'node:assert/strict';
import { numbers, waitFor } from './harness.js';

export default {
    async members_share_the_partitions(test) {
        const topic = await test.topic(4);
        const group = test.fresh('group');
        const first = await test.member(topic, group);
        const second = await test.member(topic, group);
        await waitFor(() => first.owned.length === 2 && second.owned.length === 2, 'two partitions each');
        const producer = await test.producer();
        await producer.send({ topic, messages: numbers(0, 200).map(value => ({ key: value, value })) });
        const values = () => [...first.messages, ...second.messages].map(message => message.value);
        await waitFor(() => values().length === 200, 'all values');
        assert.deepEqual(values().sort(), numbers(0, 200).sort());
        await first.consumer.disconnect();
        await waitFor(() => second.owned.length === 4, 'all partitions');
    },

    async group_goes_on_where_it_was(test) {
        const topic = await test.topic();
        const group = test.fresh('group');
        const producer = await test.producer();
        for (let round = 0; round < 3; round++) {
            await producer.send({ topic, messages: numbers(round * 20, round * 20 + 20).map(value => ({ value })) });
            const member = await test.member(topic, group);
            await waitFor(() => member.messages.length >= 20, 'twenty messages');
            await member.consumer.commitOffsets([{ topic, partition: 0, offset: String(round * 20 + 20) }]);
            await member.consumer.disconnect();
            assert.deepEqual(member.messages.map(message => message.value), numbers(round * 20, round * 20 + 20));
        }
    },

    async group_is_described_and_deleted(test) {
        const topic = await test.topic();
        const group = test.fresh('group');
        const admin = await test.admin();
        const member = await test.member(topic, group);
        await waitFor(() => member.owned.length === 1, 'the partition');
        const { groups: [described] } = await admin.describeGroups([group]);
        assert.deepEqual([described.state, described.protocolType, described.members.length], ['Stable', 'consumer', 1]);
        assert.ok((await admin.listGroups()).groups.some(each => each.groupId === group));
        await member.consumer.disconnect();
        await admin.deleteGroups([group]);
        assert.ok(!(await admin.listGroups()).groups.some(each => each.groupId === group));
    },
};
