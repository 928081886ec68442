"""A broker of the program under test, on the council that the suite is given."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time

PATIENCE = 30


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Broker:
    def __init__(self):
        self.directory = tempfile.mkdtemp(prefix="broker-")
        self.port = free_port()
        self.address = f"127.0.0.1:{self.port}"
        # A council may serve several brokers that know nothing of each other.
        self.council = f"{os.environ['ZK_CONNECT']}/broker{self.port}"
        self.process = None
        self.log = open(os.path.join(self.directory, "log.txt"), "ab")
        self.start()

    def start(self):
        command = [os.environ["ZK_PROGRAM"], "log", "--council", self.council, "--listen", self.address]
        command += ["--data-dir", os.path.join(self.directory, "data"), "--threads", "2"]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError("the broker does not start: " + self.last_words()) from None
                time.sleep(0.02)

    def last_words(self):
        with open(os.path.join(self.directory, "log.txt"), errors="replace") as log:
            return " | ".join(log.read().splitlines()[-5:])

    def kill(self):
        self.end(signal.SIGKILL)

    def stop(self):
        self.end(signal.SIGTERM)

    def end(self, how):
        self.process.send_signal(how)
        self.process.wait(PATIENCE)

    def restart(self):
        self.kill()
        self.start()

    def remove(self):
        if self.process.poll() is None:
            self.kill()
        self.log.close()
        shutil.rmtree(self.directory, ignore_errors=True)
