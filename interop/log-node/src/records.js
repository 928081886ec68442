// What is sent is what is read.

import assert from 'node:assert/strict';
import kafkajs from 'kafkajs';
import { numbers, refused, text, waitFor } from './harness.js';

const send = async (test, topic, values, options = {}) => {
    const producer = await test.producer();
    return producer.send({ topic, messages: values.map(value => ({ value })), ...options });
};

export default {
    async values_are_read_back_in_order(test) {
        const topic = await test.topic();
        const [place] = await send(test, topic, numbers(0, 1000));
        assert.equal(place.baseOffset, '0');
        const messages = await test.readAll(topic);
        assert.deepEqual(messages.map(message => message.value), numbers(0, 1000));
        assert.deepEqual(messages.map(message => message.offset), numbers(0, 1000).map(Number));
    },

    async every_acks_is_heeded(test) {
        const topic = await test.topic();
        for (const acks of [0, 1, -1]) await send(test, topic, numbers(0, 100), { acks });
        await send(test, topic, numbers(0, 100), { compression: kafkajs.CompressionTypes.GZIP });
        assert.equal((await test.readAll(topic)).length, 400);
    },

    async keys_headers_times_and_nulls_are_kept(test) {
        const topic = await test.topic();
        const producer = await test.producer();
        const timestamp = String(Date.now() - 5000);
        await producer.send({ topic, messages: [{ key: 'k', value: 'v', headers: { a: '1' }, timestamp }, { key: 'k', value: null }] });
        const [{ message }, tombstone] = await test.readAll(topic);
        assert.deepEqual([text(message.key), text(message.value), text(message.headers.a), message.timestamp], ['k', 'v', '1', timestamp]);
        assert.equal(tombstone.value, null);
    },

    async too_large_a_message_is_refused(test) {
        const topic = await test.topic(1, { 'max.message.bytes': '10000' });
        await refused(send(test, topic, ['x'.repeat(20_000)]), 'MESSAGE_TOO_LARGE');
    },

    async idempotent_producer_is_served(test) {
        const topic = await test.topic(3);
        const producer = await test.producer({ idempotent: true, maxInFlightRequests: 1 });
        for (let round = 0; round < 20; round++) {
            await producer.send({ topic, messages: numbers(round * 20, round * 20 + 20).map(value => ({ key: value, value })) });
        }
        const values = (await test.readAll(topic, 3)).map(message => message.value);
        assert.deepEqual(values.sort(), numbers(0, 400).sort());
    },

    async several_topics_are_sent_to_at_once(test) {
        const topics = [await test.topic(), await test.topic()];
        const producer = await test.producer();
        await producer.sendBatch({ topicMessages: topics.map(topic => ({ topic, messages: [{ value: topic }] })) });
        for (const topic of topics) assert.equal((await test.readAll(topic))[0].value, topic);
    },

    async reader_seeks_and_pauses(test) {
        const topic = await test.topic();
        await send(test, topic, numbers(0, 50));
        const member = await test.member(topic, test.fresh('group'));
        await waitFor(() => member.messages.length === 50, 'all messages');
        member.consumer.seek({ topic, partition: 0, offset: '40' });
        await waitFor(() => member.messages.length === 60, 'the last ten again');
        assert.equal(member.messages[50].value, '40');
        member.consumer.pause([{ topic }]);
        assert.deepEqual(member.consumer.paused(), [{ topic, partitions: [0] }]);
        member.consumer.resume([{ topic }]);
        await send(test, topic, ['more']);
        await waitFor(() => member.messages.at(-1).value === 'more', 'the next');
    },
};
