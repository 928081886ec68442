// What every test gets: clients that are closed behind it, names of its own, waiting with a deadline, and a hand on the
// broker. Knows nothing of what is tested.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import kafkajs from 'kafkajs';

const CONNECT = process.env.KAFKA_CONNECT ?? '127.0.0.1:9092';
export const WAIT_MS = 30_000;
const TEST_MS_MAX = 90_000;

// The test does not apply here; the message says why.
class Skip extends Error {}

let names = 0;

// One test's surroundings.
class Test {
    #closing = [];

    constructor(name) {
        this.name = name;
        this.kafka = new kafkajs.Kafka({
            clientId: 'interop', brokers: [CONNECT], logLevel: kafkajs.logLevel.NOTHING,
            retry: { initialRetryTime: 50, maxRetryTime: 500, retries: 100 }, requestTimeout: 10_000,
        });
    }

    fresh = what => `${what}-${++names}-${Date.now() % 100_000}`;

    async #connected(client) {
        await client.connect();
        this.#closing.push(client);
        return client;
    }

    producer = options => this.#connected(this.kafka.producer(options));
    admin = () => this.#connected(this.kafka.admin());

    // A member of a group that reads from the start, and keeps what it was given.
    async member(topic, groupId, options = {}, config = {}) {
        const consumer = await this.#connected(this.kafka.consumer({
            groupId, sessionTimeout: 6_000, heartbeatInterval: 300, maxWaitTimeInMs: 200, rebalanceTimeout: 10_000, ...options,
        }));
        const member = { consumer, messages: [], owned: [] };
        consumer.on(consumer.events.GROUP_JOIN, event => {
            member.owned = event.payload.memberAssignment[topic] ?? [];
        });
        await consumer.subscribe({ topic, fromBeginning: true });
        await consumer.run({
            eachMessage: async ({ partition, message }) => {
                member.messages.push({ partition, offset: Number(message.offset), value: text(message.value), message });
            },
            ...config,
        });
        return member;
    }

    async topic(partitions = 1, settings = {}) {
        const admin = await this.admin();
        const topic = this.fresh('topic');
        const configEntries = Object.entries(settings).map(([name, value]) => ({ name, value }));
        await admin.createTopics({ topics: [{ topic, numPartitions: partitions, configEntries }] });
        await waitFor(() => admin.fetchTopicOffsets(topic).then(at => at.length === partitions, () => false), `topic ${topic}`);
        return topic;
    }

    // What a reader of committed records finds in a topic, in the order of partitions and offsets. The messages counted
    // are those of the group's own end: a last message is sent to each partition to mark it.
    async readAll(topic, partitions = 1) {
        const producer = await this.producer();
        const end = this.fresh('end');
        for (let partition = 0; partition < partitions; partition++) {
            await producer.send({ topic, messages: [{ value: end, partition }] });
        }
        const member = await this.member(topic, this.fresh('reader'));
        const ended = () => member.messages.filter(message => message.value === end).length === partitions;
        await waitFor(ended, `the ends of ${topic}`);
        await member.consumer.stop();
        return member.messages.filter(message => message.value !== end && !message.value?.startsWith('end-'))
            .sort((one, other) => one.partition - other.partition || one.offset - other.offset);
    }

    async close() {
        await Promise.all(this.#closing.map(client => client.disconnect().catch(() => {})));
    }
}

export const text = bytes => bytes === null ? null : String(bytes);
export const numbers = (begin, end) => Array.from({ length: end - begin }, (_, place) => String(begin + place));

export async function waitFor(condition, what) {
    const deadline = Date.now() + WAIT_MS;
    for (;;) {
        const value = await condition();
        if (value) return value;
        assert.ok(Date.now() < deadline, `waited ${WAIT_MS} ms for ${what}`);
        await new Promise(resolve => setTimeout(resolve, 20));
    }
}

// The promise must fail with Kafka's error of this name.
export async function refused(promise, type) {
    const error = await promise.then(() => undefined, reason => reason);
    assert.ok(error, `succeeded, expected ${type}`);
    const types = [error.type, error.cause?.type, ...(error.errors ?? []).map(each => each.type)];
    assert.ok(types.includes(type), `${error.message}, expected ${type}`);
}

export async function control(...words) {
    if (!process.env.KAFKA_CONTROL) throw new Skip('KAFKA_CONTROL is not set');
    await promisify(execFile)(process.env.KAFKA_CONTROL, words);
}

// A test that failed may have left the broker down, which is not the next one's fault.
async function raiseBroker() {
    for (const verb of ['resume', 'start']) await control(verb).catch(() => {});
}

async function report(name, body) {
    const started = Date.now();
    const test = new Test(name);
    let timer;
    const late = new Promise((_, reject) => {
        timer = setTimeout(() => reject(new Error(`not done after ${TEST_MS_MAX} ms`)), TEST_MS_MAX);
    });
    let failed = false;
    try {
        await Promise.race([late, body(test)]);
        console.log(`ok ${name}`);
    } catch (error) {
        if (error instanceof Skip) {
            console.log(`skip ${name} - ${error.message}`);
        } else {
            failed = true;
            console.log(`not ok ${name} - ${String(error.message).split(/\s+/).join(' ')}`);
            console.error(error);
            await raiseBroker();
        }
    }
    clearTimeout(timer);
    // Nobody waits for a consumer that takes its time to leave.
    test.close();
    if (Date.now() - started > 10_000) console.log(`# ${name} took ${Date.now() - started} ms`);
    return failed;
}

// Tests of `deaths` come first and one by one, while the broker has few topics; those of another group at the same time.
export async function run(groups, only) {
    let failed = false;
    process.on('unhandledRejection', error => console.error('later:', error.message));
    for (const [group, tests] of Object.entries(groups)) {
        const chosen = Object.entries(tests).map(([test, body]) => [`${group}.${test}`, body])
            .filter(([name]) => !only.length || only.some(part => name.includes(part)));
        if (group === 'deaths') {
            for (const each of chosen) failed = await report(...each) || failed;
        } else {
            failed = (await Promise.all(chosen.map(each => report(...each)))).some(Boolean) || failed;
        }
    }
    return failed ? 1 : 0;
}
