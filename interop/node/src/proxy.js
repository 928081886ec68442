// A door between a client and the server that can be shut. It knows nothing of the protocol.

import { once } from 'node:events';
import net from 'node:net';
import { CONNECT } from './harness.js';

export class Proxy {
    #isOpen = true;
    #sockets = new Set();

    static async start() {
        const proxy = new Proxy();
        const listener = net.createServer(client => proxy.#accept(client));
        listener.listen(0, '127.0.0.1').unref();
        await once(listener, 'listening');
        proxy.address = `127.0.0.1:${listener.address().port}`;
        return proxy;
    }

    // Cuts what is open and refuses what comes.
    shut() {
        this.#isOpen = false;
        for (const socket of this.#sockets) socket.destroy();
        this.#sockets.clear();
    }

    open() {
        this.#isOpen = true;
    }

    #accept(client) {
        if (!this.#isOpen) {
            client.destroy();
            return;
        }
        const [host, port] = CONNECT.split(':');
        const server = net.connect(Number(port), host);
        for (const [socket, other] of [[client, server], [server, client]]) {
            this.#sockets.add(socket);
            socket.on('error', () => {});
            socket.on('close', () => other.destroy());
            socket.pipe(other);
        }
    }
}
