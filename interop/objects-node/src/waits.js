// Waits, cancellation, the loss of sessions, the deaths of leaders.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import * as diwan from '../../../clients/javascript/src/index.js'
import { KILLS, SERVERS, connect, control, eventually, fresh, refused, rest, test } from './harness.js'

const { deepEqual, equal, ok } = assert

/** A process that holds a lock: it prints its fence, then that it is lost. */
async function holder(name) {
  const program = fileURLToPath(new URL('./holder.js', import.meta.url))
  const process_ = spawn(process.execPath, [program, SERVERS, name], { stdio: ['ignore', 'pipe', 'inherit'] })
  const lines = createInterface({ input: process_.stdout })[Symbol.asyncIterator]()
  const line = async () => (await lines.next()).value
  return { process: process_, line, fence: Number(await line()) }
}

test('waits.cancelled_wait_leaves_no_waiter', async (cluster) => {
  const lock = new diwan.Lock(cluster, fresh())
  await lock.with(async () => {
    const abort = new AbortController()
    const waiting = lock.acquire({ signal: abort.signal })
    const ended = waiting.then(() => false, () => true)
    await eventually(async () => (await lock.holder()).waiting === 1)
    abort.abort()
    equal(await ended, true)
    await eventually(async () => (await lock.holder()).waiting === 0)
  })
})

test('waits.cancelled_grant_is_given_back', async (cluster) => {
  const lock = new diwan.Lock(cluster, fresh())
  for (const delay of [0, 1, 2, 5, 10]) {
    const got = await lock.acquire({ signal: AbortSignal.timeout(delay) }).catch(() => null)
    if (got) await lock.release(got.fence)
    await lock.with(() => {}, { waitMs: 10_000 })
  }
})

test('waits.wait_ends_in_time', async (cluster) => {
  const [lock, began] = [new diwan.Lock(cluster, fresh()), performance.now()]
  await lock.with(async () => {
    await assert.rejects(lock.hold({ waitMs: 500 }), diwan.NotAcquired)
    ok(performance.now() - began >= 450)
  })
})

test('waits.queue_gives_each_item_once', async (cluster) => {
  const queue = new diwan.Queue(cluster, fresh())
  const taking = Array.from({ length: 10 }, () => queue.take())
  for (let n = 0; n < 10; n++) await queue.put(n)
  const taken = (await Promise.all(taking)).map(([item]) => item.item)
  deepEqual(taken.sort((a, b) => a - b), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
})

test('waits.call_that_waits_holds_up_no_commands', async (cluster) => {
  const [queue, counter] = [new diwan.Queue(cluster, fresh()), new diwan.Counter(cluster, fresh())]
  const taking = queue.take()
  for (let n = 1; n <= 150; n++) equal(await counter.increment(), n)
  await queue.put('x')
  equal((await taking)[0].item, 'x')
  const values = await Promise.all(Array.from({ length: 200 }, () => counter.increment()))
  deepEqual(values.sort((a, b) => a - b), Array.from({ length: 200 }, (_, n) => n + 151))
})

test('waits.call_that_waits_holds_up_no_call_of_its_session', async (cluster) => {
  const [one, wanted] = [connect(5_000), new diwan.Lock(cluster, fresh())]
  const [other, mine] = [new diwan.Lock(one, wanted.name), new diwan.Lock(cluster, fresh())]
  const held = await other.hold()
  const waiting = wanted.acquire()
  await eventually(async () => (await wanted.holder()).waiting === 1)
  let session
  for (let n = 0; n < 100; n++) {
    const got = await mine.acquire({ waitMs: 10_000 })
    session = (await mine.holder()).session
    equal(await mine.release(got.fence), 0)
  }
  equal((await wanted.holder()).waiting, 1)
  await held.release()
  equal((await waiting).acquired, true)
  equal((await wanted.holder()).session, session)
  await one.close()
})

test('waits.parallel_first_calls_open_one_session', async () => {
  const [cluster, name] = [connect(), fresh()]
  const group = new diwan.Membership(cluster, name)
  await Promise.all(Array.from({ length: 30 }, (_, n) => group.join(`m${n}`)))
  const { members } = await group.members()
  deepEqual([members.length, new Set(members.map((member) => member.session)).size], [30, 1])
  await cluster.close()
})

test('sessions.blocked_main_thread_keeps_the_lock', async (cluster) => {
  const one = connect(1_000)
  const lock = new diwan.Lock(one, fresh())
  await lock.with(async (held) => {
    await rest(300)
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3_000)
    equal(held.lost, false)
    equal((await new diwan.Lock(cluster, lock.name).acquire({ waitMs: 0 })).acquired, false)
  })
  await one.close()
})

test('sessions.dead_holder_is_followed_in_time', async (cluster) => {
  const name = fresh()
  const dead = await holder(name)
  dead.process.kill('SIGKILL')
  const began = performance.now()
  const got = await new diwan.Lock(cluster, name).acquire({ waitMs: 20_000 })
  const took = performance.now() - began
  ok(got.acquired && got.fence > dead.fence && took > 1_000 && took < 10_000, `${JSON.stringify(got)} after ${took} ms`)
})

test('sessions.stopped_holder_knows_that_it_lost', async (cluster) => {
  const name = fresh()
  const stopped = await holder(name)
  stopped.process.kill('SIGSTOP')
  const got = await new diwan.Lock(cluster, name).acquire({ waitMs: 30_000 })
  stopped.process.kill('SIGCONT')
  ok(got.acquired && got.fence > stopped.fence)
  equal(await stopped.line(), 'lost true')
})

test('sessions.stolen_lock_is_lost', async (cluster) => {
  const [one, name] = [connect(3_000), fresh()]
  const held = await new diwan.Lock(one, name).hold()
  await new diwan.Lock(cluster, name).steal()
  await eventually(() => held.signal.aborted)
  ok(held.lost)
  await held.release()
  await one.close()
})

test('sessions.closed_cluster_frees_at_once', async (cluster) => {
  const [one, name] = [connect(60_000), fresh()]
  await new diwan.Lock(one, name).acquire()
  await one.close()
  equal((await new diwan.Lock(cluster, name).acquire({ waitMs: 5_000 })).acquired, true)
  await refused('closed', new diwan.Counter(one, name).increment())
})

test('sessions.holder_counts_lock_as_lost_before_servers_do', async () => {
  // All members stand still: nobody answers, and none can let the session expire meanwhile.
  const one = connect(2_000)
  const held = await new diwan.Lock(one, fresh()).hold()
  for (const member of ['1', '2', '3']) await control('pause', member)
  const began = performance.now()
  await eventually(() => held.signal.aborted)
  const took = performance.now() - began
  for (const member of ['1', '2', '3']) await control('resume', member)
  ok(held.lost && took < 1_800, `${took} ms`)
  await one.close()
})

/** The longest time that a loop went without an answer, for each kill. */
class Gaps {
  open = 0
  ofKills = []
  calls = 0

  /** Gives the time of this answer. */
  answered(since) {
    const now = performance.now()
    this.open = Math.max(this.open, now - since)
    this.calls++
    return now
  }

  toString() {
    const gaps = this.ofKills.map(Math.round).sort((one, other) => one - other)
    const [median, longest] = [gaps[gaps.length >> 1], gaps.at(-1)]
    return `${this.calls} calls, 0 wrong answers over ${gaps.length} kills of leaders; gap: median ${median} ms, longest ${longest} ms`
  }
}

test('deaths.increment_and_get_are_right_while_leaders_die', async () => {
  let stop = false
  const gaps = new Gaps()
  const count = async () => {
    const cluster = connect(10_000)
    const counter = new diwan.Counter(cluster, fresh())
    let n = 0
    let last = performance.now()
    while (!stop) {
      equal(await counter.increment(), ++n)
      last = gaps.answered(last)
      equal(await counter.get(), n)
      last = gaps.answered(last)
    }
    await cluster.close()
  }
  const counting = Promise.all([count(), count(), count()])
  // A wrong answer ends the kills.
  counting.catch(() => (stop = true))
  for (let kill = 0; kill < KILLS && !stop; kill++) {
    await rest(500)
    gaps.open = 0
    await control('kill', 'leader')
    await control('start')
    await rest(500)
    gaps.ofKills.push(gaps.open)
  }
  stop = true
  await counting
  console.log(`# ${gaps}`)
})

test('deaths.wait_outlives_the_leader', async (cluster) => {
  const latch = new diwan.Latch(cluster, fresh())
  const opened = latch.await()
  await eventually(async () => (await latch.describe().catch(() => ({}))).waiting === 1)
  await control('kill', 'leader')
  await control('start')
  await latch.countDown()
  equal(await opened, true)
})
