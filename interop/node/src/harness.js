// What every test gets: clients that are closed behind it, a path of its own, waiting with a
// deadline, and a hand on the server. Knows nothing of what is tested.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import { promisify } from 'node:util';
import zookeeper from 'node-zookeeper-client';

export const CONNECT = process.env.ZK_CONNECT ?? '127.0.0.1:2181';
// A file that grows with every death: members of an ensemble die one after the other meanwhile, and clients know all
// of them. Empty when nobody dies.
export const TOLL = process.env.ZK_DEATHS ?? '';
const ATTEMPTS_MAX = 5;
const WAIT_MS = 15_000;
const TEST_MS_MAX = 40_000;

// The test does not apply here; the message says why.
class Skip extends Error {}

export function skipWithout(extra, reason) {
    if (!(process.env.ZK_EXTRAS ?? '').split(' ').includes(extra)) throw new Skip(reason);
}

// What clients of the present test are given. What one client wrote another reads at once only at the same server, so
// all try them in the same order, beginning with one that answers.
let servers = [CONNECT];

async function orderServers() {
    if (!TOLL) return;
    const all = process.env.ZK_SERVERS.split(',');
    const answers = await Promise.all(all.map(server => fourLetterWord('srvr', server).catch(() => '')));
    const serves = server => answers[all.indexOf(server)].includes('Mode:');
    servers = [...all.filter(serves), ...all.filter(server => !serves(server))];
}

function deaths() {
    return TOLL ? fs.statSync(TOLL).size : 0;
}

// The client's calls as promises; a reply of several values is an array.
export class Client {
    constructor(address, options = {}) {
        const known = address.startsWith(CONNECT) ? servers : [];
        const all = known.length ? known.join(',') + address.slice(CONNECT.length) : address;
        this.raw = zookeeper.createClient(all, { sessionTimeout: 10_000, spinDelay: 50, ...options });
        // The library shuffles them.
        const place = ({ host, port }) => known.indexOf(`${host}:${port}`);
        this.raw.connectionManager.servers.sort((one, other) => place(one) - place(other));
        this.states = [];
        this.raw.on('state', state => this.states.push(state.getName()));
    }

    #call(method, ...given) {
        return new Promise((resolve, reject) => {
            this.raw[method](...given, (error, ...values) => {
                if (error) reject(error);
                else resolve(values.length > 1 ? values : values[0]);
            });
        });
    }

    connect() {
        const connected = this.state('SYNC_CONNECTED');
        this.raw.connect();
        return connected;
    }

    // Waits until the client is, or again is, in this state.
    state(name) {
        const before = this.states.length;
        return waitFor(() => this.states.slice(before).includes(name), `${name}, after ${this.states}`);
    }

    close() {
        const closed = new Promise(resolve => this.raw.once('disconnected', resolve));
        this.raw.close();
        return closed;
    }

    get session() {
        return this.raw.getSessionId().toString('hex');
    }

    as(user) {
        this.raw.addAuthInfo('digest', Buffer.from(user));
        return this;
    }

    create(path, data = '', { acl = zookeeper.ACL.OPEN_ACL_UNSAFE, mode = 0 } = {}) {
        return this.#call('create', path, data === null ? null : Buffer.from(data), acl, mode);
    }

    remove = (path, version = -1) => this.#call('remove', path, version);
    removeRecursive = path => this.#call('removeRecursive', path, -1);
    set = (path, data, version = -1) => this.#call('setData', path, data === null ? null : Buffer.from(data), version);
    get = (path, ...watcher) => this.#call('getData', path, ...watcher);
    exists = (path, ...watcher) => this.#call('exists', path, ...watcher);
    children = (path, ...watcher) => this.#call('getChildren', path, ...watcher);
    getAcl = path => this.#call('getACL', path);
    setAcl = (path, acl, version = -1) => this.#call('setACL', path, acl, version);
    mkdirp = path => this.#call('mkdirp', path);
    subtree = path => this.#call('listSubTreeBFS', path);

    // Commits what `fill` adds to a transaction.
    transaction(fill) {
        const transaction = this.raw.transaction();
        fill(transaction);
        return new Promise((resolve, reject) => {
            transaction.commit((error, results) => {
                if (error) reject(Object.assign(error, { results }));
                else resolve(results);
            });
        });
    }

    async text(path) {
        return String((await this.get(path))[0]);
    }

    async gone(path) {
        return !(await this.exists(path));
    }
}

// Asks again what may be asked twice, where members die.
export async function retried(operation) {
    for (;;) {
        try {
            return await operation();
        } catch (error) {
            if (!TOLL || error.getName?.() !== 'CONNECTION_LOSS') throw error;
        }
    }
}

// One test's surroundings: `zk` is connected, `path` exists and is empty.
class Test {
    clients = [];

    async client(address = CONNECT, options) {
        const client = new Client(address, options);
        this.clients.push(client);
        await client.connect();
        return client;
    }

    async prepare(name) {
        this.zk = await this.client();
        this.path = '/node/' + name.replaceAll('.', '/');
        await retried(() => this.zk.mkdirp(this.path));
    }

    node(name, data, options) {
        return this.zk.create(`${this.path}/${name}`, data, options);
    }

    async eventuallyGone(path) {
        await waitFor(() => this.zk.gone(path), `the end of ${path}`);
    }

    close() {
        for (const client of this.clients) client.raw.close();
    }
}

export async function waitFor(condition, what) {
    const deadline = Date.now() + WAIT_MS;
    for (;;) {
        const value = await condition();
        if (value) return value;
        assert.ok(Date.now() < deadline, `waited ${WAIT_MS} ms for ${what}`);
        await new Promise(resolve => setTimeout(resolve, 10));
    }
}

// The promise must fail with ZooKeeper's error of this name.
export async function refused(promise, name) {
    const error = await promise.then(() => undefined, reason => reason);
    assert.ok(error, `succeeded, expected ${name}`);
    assert.equal(error.getName?.() ?? error.message, name);
    return error;
}

// A watcher that keeps what it was told, as `TYPE path`.
export class Events {
    told = [];
    watcher = event => this.told.push(`${event.getName()} ${event.getPath()}`);

    async expect(...expected) {
        await waitFor(() => this.told.length >= expected.length, `${expected}; told ${this.told}`);
        assert.deepEqual(this.told, expected);
    }
}

export async function control(verb) {
    if (!process.env.ZK_CONTROL) throw new Skip('ZK_CONTROL is not set');
    await promisify(execFile)(process.env.ZK_CONTROL, [verb]);
}

export async function fourLetterWord(word, server = CONNECT) {
    const [host, port] = server.split(':');
    const socket = net.connect(Number(port), host);
    socket.end(word);
    let answer = '';
    for await (const part of socket) answer += part;
    return answer;
}

// A test that fails while a member dies is played again, at a path of its own: it is about something else. What must
// hold through deaths is told in `deaths`, which is played once.
async function attempts(group, name, body) {
    for (let number = 0; ; number++) {
        const before = deaths();
        try {
            return await attempt(number ? `${name}.again${number}` : name, body);
        } catch (error) {
            const isLast = number + 1 === ATTEMPTS_MAX || group === 'deaths' || !TOLL;
            if (error instanceof Skip || isLast) throw error;
            // Returns when a death that is under way is over, and counted.
            await raiseServer();
            if (deaths() === before) throw error;
            console.log(`# ${name} met a death: ${String(error.message).split(/\s+/).join(' ')}`);
        }
    }
}

async function attempt(name, body) {
    await orderServers();
    const test = new Test();
    let timer;
    const late = new Promise((_, reject) => {
        timer = setTimeout(() => reject(new Error(`not done after ${TEST_MS_MAX} ms`)), TEST_MS_MAX);
    });
    try {
        await Promise.race([late, test.prepare(name).then(() => body(test))]);
    } finally {
        clearTimeout(timer);
        test.close();
    }
}

// A test that failed may have left the server down, which is not the next one's fault.
async function raiseServer() {
    for (const verb of ['resume', 'start']) await control(verb).catch(() => {});
}

export async function run(groups, only) {
    let status = 0;
    // Of a test that has failed already, which nobody waits for any more.
    process.on('unhandledRejection', error => console.error('later:', error.message));
    for (const [group, tests] of Object.entries(groups)) {
        for (const [test, body] of Object.entries(tests)) {
            const name = `${group}.${test}`;
            if (only.length && !only.some(part => name.includes(part))) continue;
            const started = Date.now();
            try {
                await attempts(group, name, body);
                console.log(`ok ${name}`);
            } catch (error) {
                if (error instanceof Skip) {
                    console.log(`skip ${name} - ${error.message}`);
                } else {
                    status = 1;
                    console.log(`not ok ${name} - ${String(error.message).split(/\s+/).join(' ')}`);
                    console.error(error);
                    await raiseServer();
                }
            }
            if (Date.now() - started > 4000) console.log(`# ${name} took ${Date.now() - started} ms`);
        }
    }
    return status;
}
