// Single operations on nodes.

import assert from 'node:assert/strict';
import zookeeper from 'node-zookeeper-client';
import { CONNECT, fourLetterWord, refused } from './harness.js';

const { CreateMode } = zookeeper;
const number = buffer => buffer.readBigInt64BE();

export default {
    async createAndStat(t) {
        const path = await t.node('a', 'four');
        assert.equal(path, t.path + '/a');
        const [data, stat] = await t.zk.get(path);
        assert.equal(String(data), 'four');
        assert.deepEqual([stat.version, stat.cversion, stat.aversion, stat.numChildren, stat.dataLength], [0, 0, 0, 0, 4]);
        assert.equal(number(stat.mzxid), number(stat.czxid));
        assert.equal(number(stat.pzxid), number(stat.czxid));
        assert.ok(Math.abs(Number(number(stat.ctime)) - Date.now()) < 60_000);
    },

    async createRefused(t) {
        await t.node('a');
        await refused(t.node('a'), 'NODE_EXISTS');
        await refused(t.node('none/a'), 'NO_NODE');
        await t.node('e', '', { mode: CreateMode.EPHEMERAL });
        await refused(t.node('e/a'), 'NO_CHILDREN_FOR_EPHEMERALS');
    },

    async createModes(t) {
        assert.equal(await t.node('n-', '', { mode: CreateMode.PERSISTENT_SEQUENTIAL }), t.path + '/n-0000000000');
        assert.equal(await t.node('n-', '', { mode: CreateMode.EPHEMERAL_SEQUENTIAL }), t.path + '/n-0000000001');
        const stat = await t.zk.exists(await t.node('e', '', { mode: CreateMode.EPHEMERAL }));
        assert.equal(stat.ephemeralOwner.toString('hex'), t.zk.session);
    },

    async sequenceCountsCreations(t) {
        await t.zk.remove(await t.node('plain'));
        assert.equal(await t.node('n-', '', { mode: CreateMode.PERSISTENT_SEQUENTIAL }), t.path + '/n-0000000001');
    },

    async ephemeralLeavesWithItsSession(t) {
        const other = await t.client();
        const path = await other.create(t.path + '/e', '', { mode: CreateMode.EPHEMERAL });
        assert.ok(await t.zk.exists(path));
        await other.close();
        assert.ok(await t.zk.gone(path));
    },

    async set(t) {
        const path = await t.node('a', 'old');
        const stat = await t.zk.set(path, 'newer', 0);
        assert.deepEqual([stat.version, stat.dataLength], [1, 5]);
        assert.ok(number(stat.mzxid) > number(stat.czxid));
        await refused(t.zk.set(path, 'x', 7), 'BAD_VERSION');
        await refused(t.zk.set(t.path + '/none', 'x'), 'NO_NODE');
        assert.equal(await t.zk.text(path), 'newer');
    },

    async nullIsNotEmpty(t) {
        const [none, empty] = [await t.node('null', null), await t.node('empty', '')];
        assert.equal((await t.zk.get(none))[0], undefined);
        assert.deepEqual((await t.zk.get(empty))[0], Buffer.alloc(0));
    },

    async remove(t) {
        const path = await t.node('a');
        await t.node('a/b');
        await refused(t.zk.remove(path), 'NOT_EMPTY');
        await refused(t.zk.remove(path + '/b', 5), 'BAD_VERSION');
        await t.zk.remove(path + '/b', 0);
        await t.zk.remove(path);
        await refused(t.zk.remove(path), 'NO_NODE');
        await refused(t.zk.remove('/zookeeper'), 'BAD_ARGUMENTS');
    },

    async readsOfNothing(t) {
        const none = t.path + '/none';
        assert.ok(await t.zk.gone(none));
        await refused(t.zk.get(none), 'NO_NODE');
        await refused(t.zk.children(none), 'NO_NODE');
        await refused(t.zk.getAcl(none), 'NO_NODE');
    },

    async children(t) {
        for (const name of ['c', 'a', 'b']) await t.node(name);
        await t.zk.remove(t.path + '/b');
        const [children, stat] = await t.zk.children(t.path);
        assert.deepEqual(children.sort(), ['a', 'c']);
        assert.deepEqual([stat.numChildren, stat.cversion], [2, 4]);
    },

    async recursiveHelpers(t) {
        // This client's subtree goes no deeper than a node's children.
        await t.zk.mkdirp(t.path + '/a/b');
        const tree = await t.zk.subtree(t.path + '/a');
        assert.deepEqual(tree.sort(), [t.path + '/a', t.path + '/a/b']);
        await t.zk.removeRecursive(t.path + '/a');
        assert.ok(await t.zk.gone(t.path + '/a'));
    },

    async bigValue(t) {
        const value = Buffer.alloc(1_000_000, 'abcdefg');
        const path = await t.node('big', value);
        assert.ok((await t.zk.get(path))[0].equals(value));
    },

    async unicodeNames(t) {
        const names = ['käse', '中文', 'документ', 'a b', '%2F'];
        for (const name of names) assert.equal(await t.zk.text(await t.node(name, name)), name);
        assert.deepEqual((await t.zk.children(t.path))[0].sort(), names.sort());
    },

    async chroot(t) {
        const inside = await t.client(CONNECT + t.path);
        assert.equal(await inside.create('/a', 'x'), '/a');
        assert.deepEqual((await inside.children('/'))[0], ['a']);
        assert.equal(await t.zk.text(t.path + '/a'), 'x');
    },

    async thousandsInFlight(t) {
        const names = Array.from({ length: 3000 }, (_, n) => `a-rather-long-name-${n}`);
        await Promise.all(names.map(name => t.node(name)));
        assert.equal((await t.zk.children(t.path))[0].length, 3000);
    },

    async pipelinedInOrder(t) {
        const path = await t.node('a');
        const pending = [];
        for (let n = 0; n < 1000; n++) pending.push(t.zk.set(path, String(n)), t.zk.text(path));
        const replies = await Promise.all(pending);
        for (let n = 0; n < 1000; n++) {
            assert.equal(replies[2 * n].version, n + 1);
            assert.equal(replies[2 * n + 1], String(n));
        }
    },

    async compareAndSetRaces(t) {
        const path = await t.node('n', '0');
        await Promise.all(Array.from({ length: 6 }, async () => {
            const client = await t.client();
            for (let done = 0; done < 20;) {
                const [data, stat] = await client.get(path);
                const written = await client.set(path, String(Number(data) + 1), stat.version).catch(error => {
                    assert.equal(error.getName(), 'BAD_VERSION');
                });
                done += written ? 1 : 0;
            }
        }));
        assert.equal(await t.zk.text(path), '120');
    },

    async systemNodes(t) {
        assert.deepEqual((await t.zk.children('/zookeeper'))[0].sort(), ['config', 'quota']);
        await t.zk.get('/zookeeper/config');
    },

    async fourLetterWords(t) {
        assert.equal(await fourLetterWord('ruok'), 'imok');
        assert.match(await fourLetterWord('srvr'), /^Zookeeper version: .*\n[^]*\nMode: /);
        assert.match(await fourLetterWord('cons'), new RegExp(`sid=0x0*${t.zk.session.replace(/^0+/, '')},`));
    },
};
