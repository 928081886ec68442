// A client in a process of its own that can be stopped like one that hangs.

import { spawn } from 'node:child_process';
import readline from 'node:readline';
import zookeeper from 'node-zookeeper-client';
import { CONNECT, Client } from './harness.js';

export async function hold(path) {
    const client = new Client(CONNECT, { sessionTimeout: 1000 });
    await client.connect();
    await client.create(path, '', { mode: zookeeper.CreateMode.EPHEMERAL });
    client.raw.on('state', state => console.log(state.getName()));
    console.log('ready');
    process.stdin.resume();
    process.stdin.on('end', () => process.exit());
}

// Starts it; its lines are an iterator, the first one is `ready`.
export function start(path) {
    const child = spawn(process.execPath, [process.argv[1], 'held', path], { stdio: ['pipe', 'pipe', 'inherit'] });
    child.lines = readline.createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    return child;
}
