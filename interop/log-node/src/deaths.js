// The broker is killed while clients use it.

import assert from 'node:assert/strict';
import { control, waitFor } from './harness.js';

const KILLS = 2;
const pause = ms => new Promise(resolve => setTimeout(resolve, ms));

// Kills the broker a few times while `load` works; it is told when to stop.
async function killMeanwhile(load) {
    const state = { stopping: false };
    const working = load(state);
    for (let kill = 0; kill < KILLS; kill++) {
        await pause(1000);
        await control('kill');
        await control('start');
    }
    await pause(1000);
    state.stopping = true;
    await working;
}

export default {
    async idempotent_producer_and_its_group_outlive_kills(test) {
        const topic = await test.topic(2);
        const group = test.fresh('group');
        const producer = await test.producer({ idempotent: true, maxInFlightRequests: 1 });
        const member = await test.member(topic, group);
        const acknowledged = new Map();
        let sent = 0;
        await killMeanwhile(async state => {
            while (!state.stopping) {
                const [value, partition] = [String(sent), sent % 2];
                const [place] = await producer.send({ topic, messages: [{ value, partition }] });
                acknowledged.set(`${partition}@${place.baseOffset}`, value);
                sent++;
            }
        });
        await waitFor(() => new Set(member.messages.map(message => message.value)).size === sent, 'the group to see all');
        await member.consumer.disconnect();
        const messages = await test.readAll(topic, 2);
        assert.equal(messages.length, sent);
        assert.ok(sent > 50, `only ${sent} were sent`);
        const last = [-1, -1];
        for (const { partition, offset, value } of messages) {
            assert.equal(acknowledged.get(`${partition}@${offset}`), value);
            assert.ok(last[partition] < Number(value), `${value} is behind ${last[partition]}`);
            last[partition] = Number(value);
        }
    },

    async transactions_outlive_kills(test) {
        const topic = await test.topic(2);
        const transactionalId = test.fresh('tx');
        const [committed, aborted, unknown] = [new Set(), new Set(), new Set()];
        const begun = () => test.producer({ transactionalId, idempotent: true, maxInFlightRequests: 1 });
        await killMeanwhile(async state => {
            let producer = await begun();
            for (let number = 0; !state.stopping; number++) {
                try {
                    const transaction = await producer.transaction();
                    for (const part of [0, 1, 2, 3]) {
                        await transaction.send({ topic, messages: [{ value: `${number}.${part}`, partition: part % 2 }] });
                    }
                    await (number % 3 ? transaction.commit() : transaction.abort());
                    (number % 3 ? committed : aborted).add(number);
                } catch (error) {
                    unknown.add(number);
                    await producer.disconnect();
                    producer = await begun();
                }
            }
            await producer.disconnect();
        });
        // A new producer of the same name ends what the last one left.
        await begun();
        const seen = new Map();
        for (const { value } of await test.readAll(topic, 2)) {
            const number = Number(value.split('.')[0]);
            seen.set(number, [...seen.get(number) ?? [], value]);
        }
        for (const [number, values] of seen) {
            assert.ok(!aborted.has(number), `transaction ${number} was aborted and is seen`);
            assert.equal(new Set(values).size, 4, `transaction ${number}: ${values}`);
            assert.equal(values.length, 4, `transaction ${number}: ${values}`);
        }
        for (const number of committed) assert.ok(seen.has(number), `transaction ${number} was committed and is lost`);
        assert.ok(committed.size > 5, `${committed.size} committed, ${unknown.size} unknown`);
    },
};
