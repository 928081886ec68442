// The server dies, stops, hangs and comes back.

import assert from 'node:assert/strict';
import zookeeper from 'node-zookeeper-client';
import { CONNECT, Events, control, refused, waitFor } from './harness.js';
import { Proxy } from './proxy.js';

const { ACL, CreateMode } = zookeeper;

// Puts the test's client behind a door: it would hang on a connection that a starting ZooKeeper takes
// and does not answer, so it is let in when the server serves.
async function behind(t) {
    t.door = await Proxy.start();
    t.zk = await t.client(t.door.address);
}

async function restart(t, how) {
    const lost = t.zk.state('DISCONNECTED');
    await control(how);
    await lost;
    await comeBack(t);
}

async function comeBack(t) {
    t.door.shut();
    const back = t.zk.state('SYNC_CONNECTED');
    await control('start');
    t.door.open();
    await back;
}

async function keepsEverything(t, how) {
    await behind(t);
    await t.zk.set(await t.node('plain', 'old'), 'new');
    await t.node('e', 'x', { mode: CreateMode.EPHEMERAL });
    await t.node('n-', '', { mode: CreateMode.PERSISTENT_SEQUENTIAL });
    await t.node('guarded', '', { acl: ACL.READ_ACL_UNSAFE });
    const names = ['plain', 'e', 'n-0000000002', 'guarded'];
    const stats = () => Promise.all(names.map(name => t.zk.exists(`${t.path}/${name}`)));
    const [before, session] = [await stats(), t.zk.session];
    await restart(t, how);
    assert.equal(t.zk.session, session);
    assert.deepEqual(await stats(), before);
    assert.equal(await t.zk.text(t.path + '/plain'), 'new');
    await refused(t.zk.set(t.path + '/guarded', 'x'), 'NO_AUTH');
    assert.equal(await t.node('n-', '', { mode: CreateMode.PERSISTENT_SEQUENTIAL }), t.path + '/n-0000000004');
}

export default {
    killKeepsEverything: t => keepsEverything(t, 'kill'),
    stopKeepsEverything: t => keepsEverything(t, 'stop'),

    async killLosesNothingAcknowledged(t) {
        await behind(t);
        const acknowledged = [];
        let kill;
        let isDead = false;
        const writers = Array.from({ length: 50 }, async (_, writer) => {
            for (let n = 0; !isDead; n++) {
                const path = await t.node(`w${writer}-${n}`).catch(() => null);
                if (!path) return;
                acknowledged.push(path.slice(t.path.length + 1));
                if (acknowledged.length > 500) kill ??= control('kill').then(() => { isDead = true; });
            }
        });
        await waitFor(() => isDead, 'enough acknowledgements, and the kill');
        await comeBack(t);
        await Promise.all(writers);
        const present = new Set((await t.zk.children(t.path))[0]);
        assert.deepEqual(acknowledged.filter(name => !present.has(name)), []);
    },

    async watchesComeBack(t) {
        await behind(t);
        const [path, events] = [await t.node('a'), new Events()];
        await t.zk.get(path, events.watcher);
        await restart(t, 'kill');
        await (await t.client()).set(path, 'x');
        await events.expect(`NODE_DATA_CHANGED ${path}`);
    },

    async absentSessionsExpire(t) {
        await behind(t);
        const door = await Proxy.start();
        const client = await t.client(door.address, { sessionTimeout: 1000 });
        const path = await client.create(t.path + '/e', '', { mode: CreateMode.EPHEMERAL });
        door.shut();
        await restart(t, 'kill');
        await t.eventuallyGone(path);
    },

    async aPauseIsSurvived(t) {
        const client = await t.client(CONNECT);
        await control('pause');
        const answer = client.exists('/');
        await control('resume');
        assert.ok(await answer);
    },
};
