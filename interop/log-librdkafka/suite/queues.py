"""Share groups by librdkafka's share consumer, a preview: the example program. A Kafka 4.3 has no dead letters and delays."""

import sys
from pathlib import Path

from suite.harness import Skip, fresh, test

sys.path.append(str(Path(__file__).parents[3] / "examples" / "queue-python"))
from work_queue import WorkQueue  # noqa: E402  It is not installed.


@test
def example_does_what_it_says(broker):
    if broker.is_kafka:
        raise Skip("Kafka 4.3 has no dead letters, times to live and delays")
    example = WorkQueue(broker.address, fresh("invoices"), fresh("billing"))
    example.create()
    example.send("invoice 1")
    example.send("not an invoice")
    example.send("invoice 2, in two seconds", diwan_delay_ms="2000")
    example.send("invoice 3, which nobody wants any more", diwan_ttl_ms="0")
    assert example.work(2) == ["invoice 1", "invoice 2, in two seconds"]
    letters = example.dead_letters(2)
    assert letters == {"not an invoice": "rejected", "invoice 3, which nobody wants any more": "expired"}, letters
