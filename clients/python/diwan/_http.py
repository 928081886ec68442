"""HTTP/1.1 over connections that stay open: as much of it as the objects need."""

import asyncio


class Broken(ConnectionError):
    """The connection ended before the response did."""


CONNECT_SECONDS = 2.0
IDLE_PER_MEMBER_MAX = 64
HEAD_BYTES_MAX = 64 << 10


class Connection:
    """One connection. It carries one request at a time."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer
        self.stays = True

    async def head(self, host, method, target, fields, body):
        """Sends a request, reads the head of the response: its status and its fields."""
        lines = [f"{method} {target} HTTP/1.1", f"Host: {host}"]
        lines += [f"{name}: {value}" for name, value in fields.items()]
        if body:
            lines.append("Content-Type: application/json")
        if body or method in ("POST", "PUT"):
            lines.append(f"Content-Length: {len(body)}")
        self.writer.write("\r\n".join(lines + ["", ""]).encode() + body)
        try:
            await self.writer.drain()
        except ConnectionResetError as error:
            # With TLS 1.3 a client learns only now that its certificate is refused: the reader knows.
            raise self.reader.exception() or error from None
        try:
            head = await self.reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
            raise Broken("no response") from error
        first, *rest = head.decode("latin-1").split("\r\n")
        pairs = (line.partition(":") for line in rest if line)
        answered = {name.strip().lower(): value.strip() for name, _, value in pairs}
        self.stays = answered.get("connection", "").lower() != "close"
        parts = first.split(" ", 2)
        if len(parts) < 2 or not parts[1].isdigit():
            raise Broken("no HTTP")
        return int(parts[1]), answered

    async def body(self, fields):
        """The body behind that head."""
        try:
            if fields.get("transfer-encoding", "").lower() == "chunked":
                return b"".join([piece async for piece in self.pieces()])
            return await self.reader.readexactly(int(fields.get("content-length", 0)))
        except (asyncio.IncompleteReadError, ValueError) as error:
            raise Broken("half a response") from error

    async def pieces(self):
        """The chunks of a body."""
        while True:
            line = await self.reader.readline()
            if not line.endswith(b"\n"):
                raise Broken("half a response")
            size = int(line.split(b";")[0], 16)
            piece = await self.reader.readexactly(size + 2)
            if size == 0:
                return
            yield piece[:-2]

    def close(self):
        self.writer.close()


class Connections:
    """The open connections to all members."""

    def __init__(self, tls=None):
        self.tls = tls
        self.idle = {}
        self.closed = False

    async def take(self, member):
        """A connection to a member that is at rest, or a new one."""
        idle = self.idle.get(member, [])
        while idle:
            connection = idle.pop()
            if not connection.reader.at_eof() and not connection.writer.is_closing():
                return connection
            connection.close()
        host, _, port = member.rpartition(":")
        opening = asyncio.open_connection(host.strip("[]"), int(port), limit=HEAD_BYTES_MAX, ssl=self.tls)
        return Connection(*await asyncio.wait_for(opening, CONNECT_SECONDS))

    async def request(self, member, method, target, fields, body):
        """Sends a request, gives status, fields and body. A call that does not come to its end closes its connection."""
        connection = await self.take(member)
        try:
            status, answered = await connection.head(member, method, target, fields, body)
            data = await connection.body(answered)
        except BaseException:
            connection.close()
            raise
        idle = self.idle.setdefault(member, [])
        if connection.stays and not self.closed and len(idle) < IDLE_PER_MEMBER_MAX:
            idle.append(connection)
        else:
            connection.close()
        return status, answered, data

    def close(self):
        self.closed = True
        for idle in self.idle.values():
            for connection in idle:
                connection.close()
        self.idle.clear()
