"""The broker is killed while both clients use it: nothing acknowledged is lost, and transactions stay whole."""

import asyncio
import threading
import time

from aiokafka import TopicPartition
from aiokafka.errors import KafkaError as AioError
from aiokafka.errors import ProducerFenced

from suite.aio_records import producer_of, reader_of
from suite.harness import PATIENCE, fresh, new_topic, producer, read_all, test, until_async

KILLS = 2


def kill_meanwhile(broker, stopping):
    for _ in range(KILLS):
        # The load goes on for a while between kills; nothing waits for this time.
        time.sleep(1)
        broker.restart()
    time.sleep(1)
    stopping.set()


@test
def blocking_idempotent_producer_loses_and_doubles_nothing(broker):
    topic, stopping, sent = new_topic(broker, 2), threading.Event(), []
    maker = producer(broker, enable_idempotence=True, delivery_timeout_ms=60000, request_timeout_ms=5000, max_block_ms=60000)

    def work():
        while not stopping.is_set():
            number = len(sent)
            sent.append(maker.send(topic, b"%d" % number, partition=number % 2))
            if number % 20 == 0:
                time.sleep(0.005)

    thread = threading.Thread(target=work)
    thread.start()
    kill_meanwhile(broker, stopping)
    thread.join()
    maker.flush(60)
    places = {(at.partition, at.offset): number for number, at in enumerate(future.get(PATIENCE) for future in sent)}
    maker.close()
    records = read_all(broker, topic, 2)
    assert {(record.partition, record.offset): int(record.value) for record in records} == places
    for partition in range(2):
        values = [int(record.value) for record in records if record.partition == partition]
        assert values == sorted(set(values)), f"partition {partition}"
    assert len(sent) > 300, len(sent)


@test
async def transactions_and_a_group_outlive_kills(broker):
    source, topic, group, identity = new_topic(broker), new_topic(broker, 2), fresh("group"), fresh("tx")
    committed, aborted, unknown, offsets = set(), set(), set(), []
    stopping = threading.Event()
    killer = threading.Thread(target=kill_meanwhile, args=(broker, stopping))
    killer.start()
    number = 0
    while not stopping.is_set():
        maker = producer_of(broker, transactional_id=identity, request_timeout_ms=5000)
        try:
            await asyncio.wait_for(maker.start(), PATIENCE)
            while not stopping.is_set():
                number += 1
                await maker.begin_transaction()
                for part in range(4):
                    await asyncio.wait_for(maker.send_and_wait(topic, b"%d.%d" % (number, part), partition=part % 2), PATIENCE)
                if number % 3:
                    await asyncio.wait_for(maker.commit_transaction(), PATIENCE)
                    committed.add(number)
                else:
                    await asyncio.wait_for(maker.abort_transaction(), PATIENCE)
                    aborted.add(number)
        except ProducerFenced:
            raise
        except (AioError, asyncio.TimeoutError):
            unknown.add(number)
        finally:
            try:
                await asyncio.wait_for(maker.stop(), 10)
            except (AioError, asyncio.TimeoutError):
                pass
    killer.join()
    # A new producer of the same name ends what the last one left.
    async with producer_of(broker, transactional_id=identity):
        pass
    seen = {}
    for record in read_all(broker, topic, 2):
        seen.setdefault(int(record.value.split(b".")[0]), []).append(record.value)
    for one, values in seen.items():
        assert one not in aborted, f"transaction {one} was aborted and is seen"
        assert len(values) == len(set(values)) == 4, (one, values)
    assert committed <= set(seen), f"committed and lost: {committed - set(seen)}"
    assert len(committed) > 5, (len(committed), len(unknown))


@test
async def committed_offsets_outlive_kills(broker):
    topic, group = new_topic(broker), fresh("group")
    part = TopicPartition(topic, 0)
    async with producer_of(broker, request_timeout_ms=60000) as maker, reader_of(broker, topic, group_id=group) as reader:
        for value in range(20):
            await maker.send_and_wait(topic, b"%d" % value)
        for offset in range(1, 21):
            assert (await reader.getone()).offset == offset - 1
            await reader.commit({part: offset})
            if offset % 10 == 0:
                await asyncio.get_running_loop().run_in_executor(None, broker.restart)
                await until_async(lambda: committed_by(reader, part, offset), f"offset {offset}, which was committed")


async def committed_by(reader, part, offset):
    """Whether a reader is told this offset. Just after a restart it may be told an error, or nothing."""
    try:
        found = await reader.committed(part)
    except AioError:
        return False
    assert found in (None, offset), f"{offset} was committed, is {found}"
    return found == offset
