// One-shot watches, also across reconnection. This client has no persistent ones.

import assert from 'node:assert/strict';
import zookeeper from 'node-zookeeper-client';
import { CONNECT, Events } from './harness.js';
import { Proxy } from './proxy.js';

export default {
    async data(t) {
        const [path, events] = [await t.node('a'), new Events()];
        await t.zk.get(path, events.watcher);
        await t.zk.set(path, 'x');
        await t.zk.get(path, events.watcher);
        await t.zk.remove(path);
        await events.expect(`NODE_DATA_CHANGED ${path}`, `NODE_DELETED ${path}`);
    },

    async exists(t) {
        const [path, events] = [t.path + '/a', new Events()];
        assert.ok(!(await t.zk.exists(path, events.watcher)));
        await t.node('a');
        await t.zk.exists(path, events.watcher);
        await t.zk.set(path, 'x');
        await events.expect(`NODE_CREATED ${path}`, `NODE_DATA_CHANGED ${path}`);
    },

    async children(t) {
        const events = new Events();
        await t.zk.children(t.path, events.watcher);
        await t.zk.set(t.path, 'x');
        const path = await t.node('a');
        await t.zk.children(t.path, events.watcher);
        await t.zk.set(path, 'x');
        await t.zk.remove(path);
        await t.zk.children(t.path, events.watcher);
        await t.zk.remove(t.path);
        await events.expect(`NODE_CHILDREN_CHANGED ${t.path}`, `NODE_CHILDREN_CHANGED ${t.path}`, `NODE_DELETED ${t.path}`);
    },

    async firesOnce(t) {
        const [path, first, second] = [await t.node('a'), new Events(), new Events()];
        await t.zk.get(path, first.watcher);
        await t.zk.set(path, 'x');
        await t.zk.get(path, second.watcher);
        await t.zk.set(path, 'y');
        await second.expect(`NODE_DATA_CHANGED ${path}`);
        await first.expect(`NODE_DATA_CHANGED ${path}`);
    },

    async othersChanges(t) {
        const [other, events] = [await t.client(), new Events()];
        const path = await other.create(t.path + '/e', '', { mode: zookeeper.CreateMode.EPHEMERAL });
        await t.zk.exists(path, events.watcher);
        await other.close();
        await events.expect(`NODE_DELETED ${path}`);
    },

    async eventComesBeforeTheNewData(t) {
        const path = await t.node('a');
        for (let n = 0; n < 100; n++) {
            const order = [];
            await t.zk.get(path, () => order.push('event'));
            const written = t.zk.raw.setData(path, Buffer.from(String(n)), () => order.push('written'));
            assert.equal(written, undefined);
            await t.zk.get(path);
            assert.deepEqual(order, ['event', 'written']);
        }
    },

    async inAChroot(t) {
        const [inside, events] = [await t.client(CONNECT + t.path), new Events()];
        await inside.exists('/a', events.watcher);
        await t.node('a');
        await events.expect('NODE_CREATED /a');
    },

    async thousands(t) {
        const events = new Events();
        const paths = Array.from({ length: 1000 }, (_, n) => `${t.path}/n${n}`);
        await Promise.all(paths.map(path => t.zk.exists(path, events.watcher)));
        const other = await t.client();
        await Promise.all(paths.map(path => other.create(path)));
        await events.expect(...paths.map(path => `NODE_CREATED ${path}`));
    },

    async reconnectionTellsWhatChanged(t) {
        const door = await Proxy.start();
        const away = await t.client(door.address);
        const [data, created, children] = [new Events(), new Events(), new Events()];
        for (const name of ['set', 'same', 'parent']) await t.node(name);
        await away.get(t.path + '/set', data.watcher);
        await away.get(t.path + '/same', data.watcher);
        await away.exists(t.path + '/created', created.watcher);
        await away.children(t.path + '/parent', children.watcher);
        const lost = away.state('DISCONNECTED');
        door.shut();
        await lost;
        await t.zk.set(t.path + '/set', 'x');
        await t.node('created');
        await t.node('parent/child');
        door.open();
        await data.expect(`NODE_DATA_CHANGED ${t.path}/set`);
        await created.expect(`NODE_CREATED ${t.path}/created`);
        await children.expect(`NODE_CHILDREN_CHANGED ${t.path}/parent`);
        await t.zk.set(t.path + '/same', 'x');
        await data.expect(`NODE_DATA_CHANGED ${t.path}/set`, `NODE_DATA_CHANGED ${t.path}/same`);
    },
};
