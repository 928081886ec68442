"""A work queue on a Diwan broker: competing workers, retries, a delay, a time to live, and a dead-letter topic.

The client is confluent-kafka, whose share consumer is a preview from version 2.15 on. It has no renewal of locks.

    pip install -r requirements.txt
    python work_queue.py 127.0.0.1:9092
"""

import sys

from confluent_kafka import OFFSET_BEGINNING, AcknowledgeType, Consumer, Producer, ShareConsumer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic


class WorkQueue:
    def __init__(self, bootstrap, queue, group):
        self.client = {"bootstrap.servers": bootstrap}
        self.queue, self.group, self.dead_letters_topic = queue, group, f"dlq.{queue}"

    def create(self):
        """The topic, and what holds for the group."""
        admin = AdminClient(self.client)
        topic = NewTopic(self.queue, 1, 1, config={"diwan.queue.headers.enable": "true"})
        admin.create_topics([topic])[self.queue].result()
        settings = {
            "share.auto.offset.reset": "earliest",
            "share.delivery.count.limit": "5",
            "errors.deadletterqueue.topic.name": self.dead_letters_topic,
            "errors.deadletterqueue.copy.record.enable": "true",
        }
        entries = [
            ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET) for name, value in settings.items()
        ]
        group = ConfigResource(ConfigResource.Type.GROUP, self.group, incremental_configs=entries)
        for done in admin.incremental_alter_configs([group]).values():
            done.result()

    def send(self, message, **headers):
        """Sends a message, and returns when it is durable."""
        failed = []
        producer = Producer(self.client)
        named = {name.replace("_", "."): value for name, value in headers.items()}
        producer.produce(self.queue, message, headers=named, on_delivery=lambda error, _: failed.append(error))
        producer.flush()
        if failed != [None]:
            raise RuntimeError(failed)

    def work(self, messages):
        """A worker that ends when it has handled so many messages. As many as you like may run."""
        handled = []
        settings = {**self.client, "group.id": self.group, "share.acknowledgement.mode": "explicit"}
        with ShareConsumer(settings) as worker:
            worker.subscribe([self.queue])
            while len(handled) < messages:
                for message in worker.poll(timeout=1.0):
                    if message.error():
                        continue
                    text = message.value().decode()
                    if not text.startswith("invoice"):
                        # It will never be good: it becomes a dead letter.
                        worker.acknowledge(message, AcknowledgeType.REJECT)
                    elif message.delivery_count() == 1:
                        # The first attempt fails: another worker, or this one, gets it again.
                        worker.acknowledge(message, AcknowledgeType.RELEASE)
                    else:
                        handled.append(text)
                        worker.acknowledge(message, AcknowledgeType.ACCEPT)
                worker.commit_sync(timeout=10.0)
        return handled

    def dead_letters(self, messages):
        """Waits for so many dead letters, and gives them with the reason of each."""
        letters = {}
        reader = Consumer({**self.client, "group.id": f"{self.group}-letters", "enable.auto.commit": False})
        reader.assign([TopicPartition(self.dead_letters_topic, 0, OFFSET_BEGINNING)])
        while len(letters) < messages:
            message = reader.poll(1.0)
            if message is not None and not message.error():
                letters[message.value().decode()] = dict(message.headers())["diwan.dlq.reason"].decode()
        reader.close()
        return letters


def main(bootstrap="127.0.0.1:9092"):
    example = WorkQueue(bootstrap, "invoices", "billing")
    example.create()
    example.send("invoice 1")
    example.send("not an invoice")
    example.send("invoice 2, in two seconds", diwan_delay_ms="2000")
    example.send("invoice 3, which nobody wants any more", diwan_ttl_ms="0")
    print("handled:", example.work(2))
    print("dead letters:", example.dead_letters(2))


if __name__ == "__main__":
    main(*sys.argv[1:])
