// Every method of every type, once.

import assert from 'node:assert/strict'
import * as diwan from '../../../clients/javascript/src/index.js'
import { fresh, refused, test } from './harness.js'

const { deepEqual, equal, ok } = assert

async function of(Type, cluster, args) {
  const made = new Type(cluster, fresh())
  if (args) {
    equal(await made.create(args), true)
    equal(await made.create(args), false)
  }
  return made
}

test('methods.counter', async (cluster) => {
  const counter = await of(diwan.Counter, cluster, { start: 3 })
  equal(await counter.get(), 3)
  equal(await counter.increment(), 4)
  equal(await counter.increment({ by: 5 }), 9)
  equal(await counter.decrement(), 8)
  deepEqual(await counter.set(10), { value: 10, previous: 8 })
  equal((await counter.swap(20)).previous, 10)
  equal((await counter.compareAndSet(1, 2)).swapped, false)
  deepEqual(await counter.compareAndSet(20, 2n ** 62n), { swapped: true, value: 2n ** 62n })
  equal(await counter.get({ stale: true }), 2n ** 62n)
  equal((await counter.await({ atMost: 0, waitMs: 0 })).reached, false)
  equal((await counter.await({ equals: 2n ** 62n })).reached, true)
  await refused('overflow', counter.increment({ by: 2n ** 62n }))
})

test('methods.value', async (cluster) => {
  const value = await of(diwan.Value, cluster, { initial: { a: 1 } })
  deepEqual(await value.get(), { value: { a: 1 }, version: 0 })
  const { version } = await value.set(null)
  equal((await value.swap([1, 'ä'])).previous, null)
  equal((await value.compareAndSet('x', { version })).swapped, false)
  deepEqual((await value.awaitChange(version)).value, [1, 'ä'])
})

test('methods.map', async (cluster) => {
  const map = await of(diwan.Map, cluster, { max_entries: 5 })
  const { version } = await map.put('b', 1)
  equal((await map.put('b', 2, { ifAbsent: true })).stored, false)
  equal((await map.put('b', 2, { ifVersion: version, ttlMs: 600_000 })).stored, true)
  equal((await map.putAll({ a: 1, c: 3 })).stored, 2)
  equal((await map.add('n', { by: 4 })).value, 4)
  equal((await map.get('b')).value, 2)
  deepEqual([await map.contains('zz'), (await map.size()).size], [false, 4])
  equal((await map.getAll(['a', 'no'])).length, 1)
  deepEqual([(await map.first()).key, (await map.last()).key], ['a', 'n'])
  deepEqual([(await map.floor('bb')).key, (await map.ceiling('bb')).key, await map.floor('A')], ['b', 'c', null])
  equal((await map.range({ from: 'a', limit: 2 })).next, 'c')
  equal((await map.awaitChange('b', 0)).changed, true)
  await refused('full', map.putAll({ x: 1, y: 2 }))
  equal((await map.remove('a')).removed, true)
  equal(await map.clear(), 3)
})

test('methods.set', async (cluster) => {
  const set = await of(diwan.Set, cluster)
  deepEqual([await set.add([1, 'b', 1]), await set.remove([1]), await set.size()], [2, 1, 1])
  equal(await set.contains('b'), true)
  deepEqual(await set.members(), { items: ['b'], next: null })
  deepEqual(await set.pop({ n: 5 }), ['b'])
})

test('methods.queue', async (cluster) => {
  const queue = await of(diwan.Queue, cluster, { capacity: 2, priority: true, max_attempts: 1 })
  const [low, high] = [await queue.put('low'), await queue.put('high', { priority: 3 })]
  await refused('queue-full', queue.put('more', { waitMs: 0 }))
  equal((await queue.peek())[0].id, high)
  equal((await queue.take({ leaseMs: 60_000 }))[0].item, 'high')
  deepEqual([await queue.extend([high]), await queue.nack([high])], [1, 1])
  equal((await queue.dead())[0].id, high)
  equal(await queue.replace(low, 'other'), true)
  equal((await queue.size()).ready, 1)
  equal((await queue.list()).items[0].item, 'other')
  equal((await queue.take({ leaseMs: 60_000 }))[0].id, low)
  equal(await queue.ack([low]), 1)
  await refused('not-leased', queue.ack([low]))
  equal(await queue.remove(high), true)
  deepEqual(await queue.take({ waitMs: 0 }), [])
})

test('methods.stack', async (cluster) => {
  const stack = await of(diwan.Stack, cluster)
  deepEqual([await stack.push('a'), await stack.push('b'), await stack.size()], [1, 2, 2])
  deepEqual([await stack.peek(), await stack.items()], [['b'], ['b', 'a']])
  deepEqual([await stack.pop({ n: 5 }), await stack.pop({ waitMs: 0 })], [['b', 'a'], []])
})

test('methods.log', async (cluster) => {
  const log = await of(diwan.Log, cluster)
  deepEqual([await log.append('a'), await log.append('b')], [0, 1])
  deepEqual(await log.read(), { entries: ['a', 'b'], first: 0, next: 2 })
  deepEqual((await log.read({ from: 2, waitMs: 50 })).entries, [])
  deepEqual(await log.trim(1), { trimmed: 1, first: 1 })
})

test('methods.ids', async (cluster) => {
  const ids = await of(diwan.Ids, cluster, { start: 7 })
  equal(await ids.peek(), 7)
  deepEqual(await ids.next({ n: 3 }), { first: 7, last: 9 })
})

test('methods.names', async (cluster) => {
  const names = await of(diwan.Names, cluster)
  equal((await names.set('www', { type: 'A', address: '10.0.0.1' })).records, 1)
  equal((await names.add('www', { type: 'A', address: '10.0.0.2' })).records, 2)
  equal((await names.list({ name: 'www' })).records.length, 2)
  equal((await names.list()).names[0].name, 'www')
  equal((await names.remove('www')).records, 0)
})

test('methods.ratelimiter', async (cluster) => {
  const limiter = await of(diwan.RateLimiter, cluster)
  deepEqual(await limiter.configure({ perSecond: 1, burst: 2 }), { perSecond: 1, burst: 2 })
  equal((await limiter.acquire()).granted, true)
  ok((await limiter.acquire({ n: 2, waitMs: 0 })).retryAfterMs > 0)
  equal((await limiter.peek({ key: 'other' })).remaining, 2)
})

test('methods.latch', async (cluster) => {
  const latch = await of(diwan.Latch, cluster)
  equal(await latch.await({ waitMs: 0 }), false)
  deepEqual([await latch.countDown(), await latch.await(), await latch.reset(), await latch.count()], [0, true, 1, 1])
})

test('methods.barrier', async (cluster) => {
  const barrier = await of(diwan.Barrier, cluster, { parties: 1 })
  equal((await barrier.await()).index, 0)
  equal(await barrier.reset(), 1)
  const double = await of(diwan.Barrier, cluster, { parties: 1, double: true })
  equal((await double.enter()).index, 0)
  equal((await double.state()).inside, 1)
  equal(await double.leave(), true)
})

test('methods.lock', async (cluster) => {
  const lock = await of(diwan.Lock, cluster)
  const { fence } = await lock.acquire()
  equal(await lock.check(fence), true)
  equal((await lock.holder()).fence, fence)
  equal((await lock.acquire({ waitMs: 0 })).acquired, false)
  const back = await lock.await('changed', fence, { waitMs: 50 })
  deepEqual([back.signalled, await lock.signal('changed'), await lock.signalAll('changed')], [false, 0, 0])
  await refused('stale-fence', lock.release(fence))
  equal(await lock.release(back.fence), 0)
  ok((await lock.steal()) > back.fence)
})

test('methods.rwlock', async (cluster) => {
  const lock = await of(diwan.RwLock, cluster)
  await lock.withRead(() => lock.withRead(async () => equal((await lock.state()).readers, 2)))
  await lock.withWrite(async (held) => equal((await lock.state()).fence, held.fence))
  const down = await lock.downgrade((await lock.write()).fence)
  equal((await lock.read({ waitMs: 0 })).acquired, true)
  await lock.release(down)
})

test('methods.semaphore', async (cluster) => {
  const permits = await of(diwan.Semaphore, cluster, { permits: 3 })
  const { fence } = await permits.acquire({ n: 2 })
  equal((await permits.available()).available, 1)
  equal(await permits.release({ fence }), 2)
  equal((await permits.drain()).taken, 2)
  equal((await permits.resize(1)).permits, 4)
  ok(await permits.with((held) => held.fence))
})

test('methods.membership', async (cluster) => {
  const group = await of(diwan.Membership, cluster)
  deepEqual((await group.join('a', { data: { port: 1 } })).members[0].data, { port: 1 })
  const epoch = await group.update('a', 2)
  equal((await group.members()).epoch, epoch)
  equal((await group.awaitChange(epoch - 1)).changed, true)
  equal((await group.awaitSize({ n: 1 })).reached, true)
  equal((await group.report(epoch, 'nobody')).removed, false)
  equal(await group.leave('a'), epoch + 1)
})

test('methods.election', async (cluster) => {
  const election = await of(diwan.Election, cluster)
  const won = await election.campaign('a')
  equal((await election.leader()).name, 'a')
  equal(await election.proclaim(won.fence, 'x'), won.term)
  equal((await election.observe()).data, 'x')
  deepEqual(await election.candidates(), [])
  equal(await election.resign(won.fence), true)
  await election.withLead('b', async (held) => equal((await election.leader()).term, held.fence))
})

test('methods.objects', async (cluster) => {
  const counter = new diwan.Counter(cluster, `${fresh()} ä/ö?:x`)
  equal(await counter.create(), true)
  equal((await counter.describe()).explicit, true)
  const [first, second] = await counter.batch([['increment'], ['set']])
  deepEqual(first, { value: 1 })
  equal(second.slug, 'bad-argument')
  await refused('exists', counter.create({ start: 7 }))
  ok((await cluster.list('counter', { prefix: counter.name })).objects.length === 1)
  await refused('wrong-incarnation', counter.delete(1e12))
  await counter.delete()
  await refused('no-such-object', counter.describe())
  const problem = await refused('no-such-method', counter.call('hop'))
  deepEqual([problem.status, problem.effect, problem.retry], [404, 'none', 'no'])
})
