"""Clients of ConCoord that keep many requests outstanding, all in one thread.

ConCoord's own proxies wait for each answer, or take a thread for each connection; these do what they do, over its own
messages: a client that is rejected, or gets no answer, goes on to the next replica and sends its open requests there.
"""
import random
import select
import socket
import sys
import time

from concoord.connection import Connection
from concoord.enums import (CLIENTRESENDTIMEOUT, CR_EXCEPTION, CR_LEADERNOTREADY, CR_OK, CR_REJECTED, FLD_CLIENTBATCH,
                            FLD_PROPOSAL, FLD_SENDCOUNT, FLD_TOKEN, MSG_CLIENTREPLY, MSG_CLIENTREQUEST, NODE_CLIENT)
from concoord.exception import ConnectionError
from concoord.message import create_message
from concoord.pack import Peer, Proposal

# Between two replicas, where each says that another leads.
BETWEEN_MOVES = 0.002


class Failure(Exception):
    """Servers did not do what was asked for."""


class Request(object):
    """What was sent and not answered yet."""

    def __init__(self, message, answered, failed):
        self.message, self.answered, self.failed = message, answered, failed
        self.first_sent = self.sent = time.time()


class Client(object):
    def __init__(self, endpoints, place, patience=60):
        self.endpoints, self.place, self.patience = list(endpoints), place, patience
        self.pending = {}
        self.lost = 0
        self.number = random.randint(1, sys.maxint // 2)
        self.me = None
        self.connection = None
        self.connect()

    def connect(self):
        """To the first replica that is there."""
        began = time.time()
        while True:
            host, port = self.endpoints[0].rsplit(':', 1)
            try:
                self.socket = socket.create_connection((host, int(port)), CLIENTRESENDTIMEOUT)
                break
            except socket.error as error:
                if time.time() - began > self.patience:
                    raise Failure('no replica can be reached: %s' % error)
                self.endpoints.append(self.endpoints.pop(0))
                time.sleep(BETWEEN_MOVES)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.connection = Connection(self.socket)
        if self.me is None:
            self.me = Peer(*self.socket.getsockname() + (NODE_CLIENT,))

    def move(self):
        """On to the next replica, with everything that was not answered."""
        self.socket.close()
        self.endpoints.append(self.endpoints.pop(0))
        time.sleep(BETWEEN_MOVES)
        self.connect()
        for request in self.pending.values():
            self.lost += 1
            request.message[FLD_SENDCOUNT] += 1
            request.sent = time.time()
            # One that is not sent is found too late to be answered.
            self.connection.send(request.message)

    def send(self, call, answered, failed):
        self.number += 1
        message = create_message(MSG_CLIENTREQUEST, self.me, {
            FLD_PROPOSAL: Proposal(self.me, self.number, call), FLD_TOKEN: None, FLD_CLIENTBATCH: False,
            FLD_SENDCOUNT: 0})
        self.pending[self.number] = Request(message, answered, failed)
        if not self.connection.send(message):
            self.move()

    def receive(self):
        """Takes what has come."""
        try:
            for reply in self.connection.received_bytes():
                if reply.type != MSG_CLIENTREPLY or reply.inresponseto not in self.pending:
                    continue
                if reply.replycode in (CR_REJECTED, CR_LEADERNOTREADY):
                    self.move()
                    return
                if reply.replycode in (CR_OK, CR_EXCEPTION):
                    request = self.pending.pop(reply.inresponseto)
                    (request.answered if reply.replycode == CR_OK else request.failed)(reply.reply)
        except ConnectionError:
            self.move()

    def look_at_clock(self):
        """Nobody waits for ever."""
        if not self.pending:
            return
        now = time.time()
        if now - min(request.first_sent for request in self.pending.values()) > self.patience:
            raise Failure('a request was not answered within %d s' % self.patience)
        if now - min(request.sent for request in self.pending.values()) > CLIENTRESENDTIMEOUT:
            self.move()

    def call(self, *call):
        """Asks and waits for the answer."""
        answers, failures = [], []
        self.send(call, answers.append, failures.append)
        while self.pending:
            if select.select([self.socket], [], [], 0.1)[0]:
                self.receive()
            self.look_at_clock()
        if failures:
            # An exception as Python keeps it, on lines of its own.
            raise Failure('%s: %s' % (call[0], ' '.join(str(failures[0]).split())))
        return answers[0]


class Clients(object):
    """Many clients that take turns; `feed` sends what is due and says how long until there is more."""

    def __init__(self, todo, count, feed=None):
        self.all = [Client(todo.endpoints, place, todo.patience) for place in xrange(count)]
        self.feed = feed
        self.looked = time.time()

    def turn(self, wait):
        if self.feed:
            wait = min(wait, self.feed())
        sockets = dict((client.socket, client) for client in self.all)
        for ready in select.select(sockets.keys(), [], [], max(wait, 0))[0]:
            sockets[ready].receive()
        if time.time() - self.looked > 0.1:
            self.looked = time.time()
            for client in self.all:
                client.look_at_clock()

    def turn_for(self, seconds):
        end = time.time() + seconds
        while time.time() < end:
            self.turn(min(0.01, end - time.time()))

    def are_waiting(self):
        return any(client.pending for client in self.all)

    def finish(self):
        """Until everything is answered."""
        while self.are_waiting():
            self.turn(0.1)

    def call(self, *call):
        return self.all[0].call(*call)
