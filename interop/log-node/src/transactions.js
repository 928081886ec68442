// Transactions: all or nothing, with offsets too.

import assert from 'node:assert/strict';
import { numbers, waitFor } from './harness.js';

const transactional = (test, transactionalId) => test.producer({ transactionalId, idempotent: true, maxInFlightRequests: 1 });

export default {
    async committed_is_read_and_aborted_is_not(test) {
        const topic = await test.topic();
        const producer = await transactional(test, test.fresh('tx'));
        for (let number = 0; number < 6; number++) {
            const transaction = await producer.transaction();
            await transaction.send({ topic, messages: numbers(0, 5).map(part => ({ value: `${number}.${part}` })) });
            await (number % 2 ? transaction.abort() : transaction.commit());
        }
        const expected = [0, 2, 4].flatMap(number => numbers(0, 5).map(part => `${number}.${part}`));
        assert.deepEqual((await test.readAll(topic)).map(message => message.value), expected);
    },

    async offsets_commit_with_the_transaction_or_not_at_all(test) {
        const topic = await test.topic();
        const group = test.fresh('group');
        const admin = await test.admin();
        const producer = await transactional(test, test.fresh('tx'));
        const committed = async () => (await admin.fetchOffsets({ groupId: group, topics: [topic] }))[0].partitions[0].offset;
        for (const [offset, end] of [['5', 'abort'], ['7', 'commit']]) {
            const transaction = await producer.transaction();
            await transaction.sendOffsets({ consumerGroupId: group, topics: [{ topic, partitions: [{ partition: 0, offset }] }] });
            await transaction[end]();
            if (end === 'abort') assert.equal(await committed(), '-1');
        }
        await waitFor(async () => await committed() === '7', 'the offset');
    },

    async successor_fences_its_predecessor(test) {
        const topic = await test.topic();
        const id = test.fresh('tx');
        const old = await transactional(test, id);
        const transaction = await old.transaction();
        await transaction.send({ topic, messages: [{ value: 'left open' }] });
        const successor = await (await transactional(test, id)).transaction();
        await successor.send({ topic, messages: [{ value: 'alive' }] });
        await successor.commit();
        await assert.rejects(async () => {
            await transaction.send({ topic, messages: [{ value: 'late' }] });
            await transaction.commit();
        });
        assert.deepEqual((await test.readAll(topic)).map(message => message.value), ['alive']);
    },
};
