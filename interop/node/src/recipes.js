// Recipes over the plain calls: a lock, which is an election, a double barrier, a queue.

import assert from 'node:assert/strict';
import zookeeper from 'node-zookeeper-client';
import { waitFor } from './harness.js';

const { CreateMode } = zookeeper;

// Waits behind whoever came before; the lock's node, to be removed for releasing it.
async function acquire(client, path) {
    const mine = await client.create(path + '/lock-', '', { mode: CreateMode.EPHEMERAL_SEQUENTIAL });
    for (;;) {
        const children = (await client.children(path))[0].sort();
        const place = children.indexOf(mine.slice(path.length + 1));
        if (place === 0) return mine;
        let told;
        const change = new Promise(resolve => { told = resolve; });
        if (await client.exists(`${path}/${children[place - 1]}`, told)) await change;
    }
}

async function enter(client, path, size) {
    let told;
    const ready = new Promise(resolve => { told = resolve; });
    await client.exists(path + '/ready', told);
    await client.create(path + '/m-', '', { mode: CreateMode.EPHEMERAL_SEQUENTIAL });
    if ((await client.children(path))[0].length === size) await client.create(path + '/ready');
    await ready;
}

export default {
    async lockExcludes(t) {
        let [inside, total] = [0, 0];
        await Promise.all(Array.from({ length: 5 }, async () => {
            const client = await t.client();
            for (let n = 0; n < 8; n++) {
                const lock = await acquire(client, t.path);
                assert.equal(++inside, 1);
                await client.exists(lock);
                inside--;
                total++;
                await client.remove(lock);
            }
        }));
        assert.equal(total, 40);
    },

    async electionSurvivesItsLeader(t) {
        const [leader, heir] = [await t.client(), await t.client()];
        await acquire(leader, t.path);
        let elected = false;
        const election = acquire(heir, t.path).then(() => { elected = true; });
        await waitFor(async () => (await t.zk.children(t.path))[0].length === 2, 'two candidates');
        assert.ok(!elected);
        await leader.close();
        await election;
    },

    async doubleBarrier(t) {
        let entered = 0;
        const members = [];
        for (let n = 0; n < 3; n++) {
            assert.equal(entered, 0);
            members.push(enter(await t.client(), t.path, 3).then(() => entered++));
            await waitFor(async () => (await t.zk.children(t.path))[0].length > n, 'the member');
        }
        await Promise.all(members);
        assert.equal(entered, 3);
    },

    async queueGivesEachOnce(t) {
        const mode = CreateMode.PERSISTENT_SEQUENTIAL;
        await Promise.all(Array.from({ length: 100 }, (_, n) => t.node('q-', String(n), { mode })));
        const taken = [];
        await Promise.all(Array.from({ length: 4 }, async () => {
            const client = await t.client();
            for (let children; (children = (await client.children(t.path))[0].sort()).length;) {
                for (const child of children) {
                    await client.remove(`${t.path}/${child}`).then(() => taken.push(child), error => {
                        assert.equal(error.getName(), 'NO_NODE');
                    });
                }
            }
        }));
        assert.equal(new Set(taken).size, 100);
        assert.equal(taken.length, 100);
    },
};
