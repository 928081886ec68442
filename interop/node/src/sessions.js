// Negotiation, resumption, expiry.

import assert from 'node:assert/strict';
import zookeeper from 'node-zookeeper-client';
import { CONNECT, Client, waitFor } from './harness.js';
import { start } from './held.js';
import { Proxy } from './proxy.js';

const EPHEMERAL = { mode: zookeeper.CreateMode.EPHEMERAL };
const identity = client => ({
    sessionId: client.raw.getSessionId(),
    sessionPassword: client.raw.getSessionPassword(),
});

// Connects with a session that the server must refuse.
async function expired(options) {
    const client = new Client(CONNECT, options);
    const told = client.state('EXPIRED');
    client.raw.connect();
    await told;
}

export default {
    async identities(t) {
        const clients = await Promise.all(Array.from({ length: 5 }, () => t.client()));
        assert.equal(new Set(clients.map(client => client.session)).size, 5);
        assert.equal(t.zk.raw.getSessionPassword().length, 16);
    },

    async timeoutsAreClamped(t) {
        for (const [asked, given] of [[100, 1000], [4000, 4000], [100_000, 10_000]]) {
            assert.equal((await t.client(CONNECT, { sessionTimeout: asked })).raw.getSessionTimeout(), given);
        }
    },

    async reconnectionKeepsTheSession(t) {
        const door = await Proxy.start();
        const client = await t.client(door.address);
        const session = client.session;
        const path = await client.create(t.path + '/e', '', EPHEMERAL);
        for (let n = 0; n < 3; n++) {
            const lost = client.state('DISCONNECTED');
            door.shut();
            await lost;
            const back = client.state('SYNC_CONNECTED');
            door.open();
            await back;
            assert.equal(client.session, session);
            assert.equal((await client.exists(path)).ephemeralOwner.toString('hex'), session);
        }
    },

    async resumedFromAnotherConnection(t) {
        const door = await Proxy.start();
        const first = await t.client(door.address);
        const path = await first.create(t.path + '/e', '', EPHEMERAL);
        door.shut();
        const second = await t.client(CONNECT, identity(first));
        assert.equal(second.session, first.session);
        await second.set(path, 'mine');
        await second.close();
        assert.ok(await t.zk.gone(path));
    },

    async wrongPasswordIsExpired(t) {
        const owner = await t.client();
        const path = await owner.create(t.path + '/e', '', EPHEMERAL);
        await expired({ ...identity(owner), sessionPassword: Buffer.alloc(16, 1) });
        assert.ok(await t.zk.exists(path));
    },

    async closedSessionIsExpired(t) {
        const client = await t.client();
        const session = identity(client);
        await client.close();
        await expired(session);
    },

    async expiryWhenCutOff(t) {
        const door = await Proxy.start();
        const client = await t.client(door.address, { sessionTimeout: 1000 });
        const path = await client.create(t.path + '/e', '', EPHEMERAL);
        const told = client.state('EXPIRED');
        door.shut();
        await t.eventuallyGone(path);
        door.open();
        await told;
        await assert.rejects(client.exists('/'));
    },

    async expirySparesWhoPings(t) {
        const idle = await t.client(CONNECT, { sessionTimeout: 1500 });
        const path = await idle.create(t.path + '/idle', '', EPHEMERAL);
        for (const name of ['first', 'second']) {
            const door = await Proxy.start();
            const silent = await t.client(door.address, { sessionTimeout: 1000 });
            const mark = await silent.create(`${t.path}/${name}`, '', EPHEMERAL);
            door.shut();
            await t.eventuallyGone(mark);
        }
        assert.ok(await t.zk.exists(path));
        assert.deepEqual(idle.states, ['SYNC_CONNECTED']);
    },

    async expiryOfAStoppedProcess(t) {
        const child = start(t.path + '/e');
        try {
            assert.equal((await child.lines.next()).value, 'ready');
            child.kill('SIGSTOP');
            await t.eventuallyGone(t.path + '/e');
            child.kill('SIGCONT');
            await waitFor(async () => (await child.lines.next()).value === 'EXPIRED', 'the news');
        } finally {
            child.kill('SIGKILL');
        }
    },

    async expiryEndsAllAtOnce(t) {
        const door = await Proxy.start();
        const client = await t.client(door.address, { sessionTimeout: 1000 });
        const mode = zookeeper.CreateMode.EPHEMERAL_SEQUENTIAL;
        await Promise.all(Array.from({ length: 200 }, () => client.create(t.path + '/e', '', { mode })));
        door.shut();
        const counts = new Set();
        await waitFor(async () => counts.add((await t.zk.children(t.path))[0].length).has(0), 'the ephemerals’ end');
        assert.deepEqual([...counts].sort(), [0, 200]);
    },
};
