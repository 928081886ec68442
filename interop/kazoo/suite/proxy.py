"""A door between a client and the server that can be shut. It knows nothing of the protocol."""

import contextlib
import socket
import threading

from suite.harness import CONNECT


class Proxy:
    """Passes bytes both ways; `shut` cuts what is open and refuses what comes, until `open`."""

    def __init__(self):
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open = True
        self._sockets = set()
        self._lock = threading.Lock()
        self.address = "127.0.0.1:%d" % self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def shut(self):
        with self._lock:
            self._open = False
            for each in self._sockets:
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
            self._sockets.clear()

    def open(self):
        with self._lock:
            self._open = True

    def _accept(self):
        while True:
            client, _ = self._listener.accept()
            try:
                with self._lock:
                    if not self._open:
                        raise ConnectionRefusedError
                    host, port = CONNECT.rsplit(":", 1)
                    server = socket.create_connection((host, int(port)))
                    self._sockets |= {client, server}
            except OSError:
                client.close()
                continue
            for source, sink in ((client, server), (server, client)):
                threading.Thread(target=self._pass, args=(source, sink), daemon=True).start()

    def _pass(self, source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
        for each in (source, sink):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
