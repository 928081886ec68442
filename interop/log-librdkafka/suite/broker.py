"""The broker under test, as the environment of the suite tells of it."""

import os
import subprocess


class Broker:
    def __init__(self):
        self.address = os.environ["KAFKA_CONNECT"]
        self.is_kafka = os.environ.get("KAFKA_FLAVOR") == "kafka"

    def control(self, *words):
        """Drives the broker: kill, stop, start, pause, resume."""
        subprocess.run([os.environ["KAFKA_CONTROL"], *words], check=True, timeout=90, stdout=subprocess.DEVNULL)

    def restart(self):
        self.control("kill")
        self.control("start")
