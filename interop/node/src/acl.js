// Who may do what.

import assert from 'node:assert/strict';
import zookeeper from 'node-zookeeper-client';
import { refused } from './harness.js';
import { Proxy } from './proxy.js';

const { ACL, Id, Permission } = zookeeper;
const only = (permissions, scheme = 'world', id = 'anyone') => [new ACL(permissions, new Id(scheme, id))];

export default {
    async setAndGet(t) {
        const path = await t.node('a');
        const [acl, stat] = await t.zk.getAcl(path);
        assert.deepEqual([acl.length, acl[0].permission, acl[0].id.scheme, stat.aversion], [1, 31, 'world', 0]);
        assert.equal((await t.zk.setAcl(path, ACL.READ_ACL_UNSAFE, 0)).aversion, 1);
        await refused(t.zk.set(path, 'x'), 'NO_AUTH');
        await refused(t.zk.setAcl(path, ACL.OPEN_ACL_UNSAFE), 'NO_AUTH');
    },

    async versions(t) {
        const path = await t.node('a');
        await t.zk.setAcl(path, ACL.OPEN_ACL_UNSAFE);
        await refused(t.zk.setAcl(path, ACL.OPEN_ACL_UNSAFE, 7), 'BAD_VERSION');
    },

    async invalidLists(t) {
        for (const [scheme, id] of [['nonsense', 'x'], ['world', 'bob'], ['ip', '1.2'], ['digest', 'x']]) {
            await refused(t.node('a', '', { acl: only(31, scheme, id) }), 'INVALID_ACL');
        }
        await refused(t.node('a', '', { acl: ACL.CREATOR_ALL_ACL }), 'INVALID_ACL');
    },

    async digest(t) {
        const alice = (await t.client()).as('alice:wonder');
        const path = await alice.create(t.path + '/hers', 'x', { acl: ACL.CREATOR_ALL_ACL });
        await refused(t.zk.get(path), 'NO_AUTH');
        await refused((await t.client()).as('alice:guess').get(path), 'NO_AUTH');
        assert.equal(await t.zk.as('alice:wonder').text(path), 'x');
    },

    async addresses(t) {
        assert.equal(await t.zk.text(await t.node('mine', 'x', { acl: only(31, 'ip', '127.0.0.0/8') })), 'x');
        await refused(t.zk.get(await t.node('theirs', 'x', { acl: only(31, 'ip', '10.1.2.3') })), 'NO_AUTH');
    },

    async superuser(t) {
        const path = await t.node('a', 'x', { acl: only(31, 'ip', '10.1.2.3') });
        await refused((await t.client()).as('super:guess').get(path), 'NO_AUTH');
        assert.equal(await (await t.client()).as('super:secret').text(path), 'x');
    },

    async eachPermission(t) {
        const superuser = (await t.client()).as('super:secret');
        const path = await t.node('a');
        await t.node('a/child');
        const actions = {
            READ: () => t.zk.get(path),
            WRITE: () => t.zk.set(path, 'x'),
            CREATE: () => t.node('a/new'),
            DELETE: () => t.zk.remove(path + '/child'),
            ADMIN: () => t.zk.setAcl(path, ACL.OPEN_ACL_UNSAFE),
        };
        for (const [name, action] of Object.entries(actions)) {
            await superuser.setAcl(path, only(Permission.ALL & ~Permission[name]));
            await refused(action(), 'NO_AUTH');
            await superuser.setAcl(path, only(Permission[name]));
            await action();
        }
    },

    async unknownScheme(t) {
        const client = await t.client();
        const failed = client.state('AUTH_FAILED');
        client.raw.addAuthInfo('nonsense', Buffer.from('x'));
        await failed;
    },

    async identitySurvivesReconnection(t) {
        const door = await Proxy.start();
        const alice = (await t.client(door.address)).as('alice:wonder');
        const path = await alice.create(t.path + '/hers', 'x', { acl: ACL.CREATOR_ALL_ACL });
        const lost = alice.state('DISCONNECTED');
        door.shut();
        await lost;
        const back = alice.state('SYNC_CONNECTED');
        door.open();
        await back;
        assert.equal(await alice.text(path), 'x');
    },
};
