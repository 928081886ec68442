// Transactions. (This client takes version 0 for no version inside them.)

import assert from 'node:assert/strict';
import zookeeper from 'node-zookeeper-client';
import { refused } from './harness.js';

const data = Buffer.from('new');

export default {
    async everyKind(t) {
        const path = await t.node('a', 'old');
        await t.zk.set(path, 'older');
        const results = await t.zk.transaction(x => x
            .create(t.path + '/b', data)
            .check(path, 1)
            .setData(path, data, 1)
            .remove(t.path + '/b')
            .create(t.path + '/n-', data, zookeeper.CreateMode.EPHEMERAL_SEQUENTIAL));
        assert.equal(results.length, 5);
        assert.equal(results[0].path, t.path + '/b');
        assert.equal(results[2].stat.version, 2);
        assert.equal(results[4].path, t.path + '/n-0000000002');
        assert.equal(await t.zk.text(path), 'new');
    },

    async failureUndoesEverything(t) {
        const path = await t.node('a', 'old');
        const error = await refused(t.zk.transaction(x => x
            .setData(path, data)
            .check(path, 7)
            .create(t.path + '/b', data)), 'BAD_VERSION');
        assert.ok(error);
        assert.equal(await t.zk.text(path), 'old');
        assert.ok(await t.zk.gone(t.path + '/b'));
    },

    async failuresByKind(t) {
        const path = await t.node('a');
        await t.node('a/b');
        const none = t.path + '/none';
        await refused(t.zk.transaction(x => x.create(path, data)), 'NODE_EXISTS');
        await refused(t.zk.transaction(x => x.create(none + '/x', data)), 'NO_NODE');
        await refused(t.zk.transaction(x => x.remove(path)), 'NOT_EMPTY');
        await refused(t.zk.transaction(x => x.setData(path, data, 5)), 'BAD_VERSION');
        await refused(t.zk.transaction(x => x.check(none)), 'NO_NODE');
    },

    async failureUsesNoSequenceNumber(t) {
        const mode = zookeeper.CreateMode.PERSISTENT_SEQUENTIAL;
        for (let n = 0; n < 3; n++) {
            await refused(t.zk.transaction(x => x.create(t.path + '/n-', data, mode).check(t.path, 9)), 'BAD_VERSION');
        }
        assert.equal(await t.node('n-', '', { mode }), t.path + '/n-0000000000');
    },

    async laterSeeEarlier(t) {
        await t.zk.transaction(x => x
            .create(t.path + '/a', data)
            .create(t.path + '/a/b', data)
            .remove(t.path + '/a/b')
            .remove(t.path + '/a'));
        assert.deepEqual((await t.zk.children(t.path))[0], []);
    },

    async hundreds(t) {
        const results = await t.zk.transaction(x => {
            for (let n = 0; n < 500; n++) x.create(`${t.path}/n${n}`, data);
        });
        assert.equal(results.length, 500);
        assert.equal((await t.zk.children(t.path))[0].length, 500);
    },
};
