// Members of the ensemble are killed one after the other and come back: what a client was told stays true.

import assert from 'node:assert/strict';
import zookeeper from 'node-zookeeper-client';
import { Events, retried, waitFor } from './harness.js';

const { CreateMode } = zookeeper;
// Connections that are lost under each test.
const MOVES = 2;
const DEADLINE_MS = 30_000;

const moves = client => client.states.filter(state => state === 'DISCONNECTED').length;
const wasLost = error => error.getName?.() === 'CONNECTION_LOSS';

// A node, whatever happens; one that is there already is the one of the first try.
async function make(t, name, options) {
    await retried(() => t.node(name, '0', options)).catch(error => {
        if (error.getName?.() !== 'NODE_EXISTS') throw error;
    });
    return `${t.path}/${name}`;
}

// Writes once whatever happens: what a lost connection leaves unknown, the version tells.
async function write(client, path, version) {
    for (;;) {
        try {
            return await client.set(path, String(version + 1), version);
        } catch (error) {
            if (!wasLost(error) && error.getName?.() !== 'BAD_VERSION') throw error;
        }
        const [data, stat] = await retried(() => client.get(path));
        if (stat.version === version + 1) return assert.equal(String(data), String(version + 1));
        assert.equal(stat.version, version);
    }
}

export default {
    async sessionEphemeralsAndWritesStay(t) {
        const [session, path] = [t.zk.session, await make(t, 'a')];
        const ephemeral = await make(t, 'e', { mode: CreateMode.EPHEMERAL });
        const deadline = Date.now() + DEADLINE_MS;
        for (let version = 0; moves(t.zk) < MOVES || version < 100; version++) {
            assert.ok(Date.now() < deadline, `${version} writes, ${t.zk.states}`);
            await write(t.zk, path, version);
            const stat = await retried(() => t.zk.exists(ephemeral));
            assert.equal(stat.ephemeralOwner.toString('hex'), session);
            assert.equal((await retried(() => t.zk.get(path)))[1].version, version + 1);
        }
        assert.equal(t.zk.session, session);
        assert.ok(!t.zk.states.includes('EXPIRED'));
    },

    async sequencesHaveNoDoublesAndNoLosses(t) {
        const [made, deadline] = [[], Date.now() + DEADLINE_MS];
        while (moves(t.zk) < MOVES || made.length < 200) {
            assert.ok(Date.now() < deadline, `${made.length} nodes, ${t.zk.states}`);
            await t.node('n-', '', { mode: CreateMode.PERSISTENT_SEQUENTIAL }).then(
                path => made.push(path.slice(t.path.length + 1)),
                error => assert.ok(wasLost(error), error),
            );
        }
        const present = new Set((await retried(() => t.zk.children(t.path)))[0]);
        assert.equal(new Set(made).size, made.length);
        assert.deepEqual(made.filter(name => !present.has(name)), []);
    },

    async watchesHearOfEachChange(t) {
        const [other, path, deadline] = [await t.client(), await make(t, 'a'), Date.now() + DEADLINE_MS];
        for (let version = 0; moves(t.zk) < MOVES || version < 50; version++) {
            assert.ok(Date.now() < deadline, `${version} writes, ${t.zk.states}`);
            const events = new Events();
            await waitFor(
                async () => (await retried(() => t.zk.get(path, events.watcher)))[1].version === version,
                'what was written',
            );
            await write(other, path, version);
            await waitFor(() => events.told.includes(`NODE_DATA_CHANGED ${path}`), `the news of ${version + 1}`);
        }
    },
};
