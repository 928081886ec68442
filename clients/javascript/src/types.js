// Made by clients/generate/main.py: the built-in types.

import { DiwanObject } from './object.js'

/** A lock. `await` waits for a condition, and returns only with the lock. */
export class Lock extends DiwanObject {
  constructor(cluster, name) {
    super(cluster, 'lock', name)
  }

  async acquire(options = {}) {
    return this._result('blocking', 'acquire', { owner: options.owner ?? this.cluster.owner() }, options)
  }

  async release(fence, options = {}) {
    return (await this._result('owned', 'release', { fence }, options)).holds
  }

  async steal(options = {}) {
    return (await this._result('owned', 'steal', { reason: options.reason }, options)).fence
  }

  async await(condition, fence, options = {}) {
    return this._result('blocking', 'await', { condition, fence }, options)
  }

  async signal(condition, options = {}) {
    return (await this._result('owned', 'signal', { condition, n: options.n }, options)).woken
  }

  async signalAll(condition, options = {}) {
    return (await this._result('owned', 'signal_all', { condition }, options)).woken
  }

  async holder(options = {}) {
    return this._result('query', 'holder', {}, options)
  }

  async check(fence, options = {}) {
    return (await this._result('query', 'check', { fence }, options)).valid
  }

  hold(options = {}) {
    return this._hold('acquire', { owner: options.owner ?? this.cluster.owner() }, options, 'release')
  }

  with(work, options = {}) {
    return this._within(this.hold(options), work)
  }
}

/** A lock for one writer or many readers, in the order in which they came. */
export class RwLock extends DiwanObject {
  constructor(cluster, name) {
    super(cluster, 'rwlock', name)
  }

  async read(options = {}) {
    return this._result('blocking', 'read', {}, options)
  }

  async write(options = {}) {
    return this._result('blocking', 'write', {}, options)
  }

  async downgrade(fence, options = {}) {
    return (await this._result('owned', 'downgrade', { fence }, options)).fence
  }

  async release(fence, options = {}) {
    return (await this._result('owned', 'release', { fence }, options)).holds
  }

  async state(options = {}) {
    return this._result('query', 'state', {}, options)
  }

  holdRead(options = {}) {
    return this._hold('read', {}, options, 'release')
  }

  withRead(work, options = {}) {
    return this._within(this.holdRead(options), work)
  }

  holdWrite(options = {}) {
    return this._hold('write', {}, options, 'release')
  }

  withWrite(work, options = {}) {
    return this._within(this.holdWrite(options), work)
  }
}

/** Permits, in the order in which they were asked for. */
export class Semaphore extends DiwanObject {
  constructor(cluster, name) {
    super(cluster, 'semaphore', name)
  }

  async acquire(options = {}) {
    return this._result('blocking', 'acquire', { n: options.n }, options)
  }

  async release(options = {}) {
    return (await this._result('owned', 'release', { n: options.n, fence: options.fence }, options)).available
  }

  async drain(options = {}) {
    return this._result('owned', 'drain', {}, options)
  }

  async resize(by, options = {}) {
    return this._result('command', 'resize', { by }, options)
  }

  async available(options = {}) {
    return this._result('query', 'available', {}, options)
  }

  hold(options = {}) {
    return this._hold('acquire', { n: options.n }, options, 'release', { n: options.n ?? 1 })
  }

  with(work, options = {}) {
    return this._within(this.hold(options), work)
  }
}

/** A barrier, or a double one, which has `enter` and `leave` in place of `await`. */
export class Barrier extends DiwanObject {
  constructor(cluster, name) {
    super(cluster, 'barrier', name)
  }

  async await(options = {}) {
    return this._result('blocking', 'await', {}, options)
  }

  async enter(options = {}) {
    return this._result('blocking', 'enter', {}, options)
  }

  async leave(options = {}) {
    return (await this._result('blocking', 'leave', {}, options)).left
  }

  async reset(options = {}) {
    return (await this._result('command', 'reset', {}, options)).parties
  }

  async state(options = {}) {
    return this._result('query', 'state', {}, options)
  }
}

/** A latch: it opens when its count is 0. */
export class Latch extends DiwanObject {
  constructor(cluster, name) {
    super(cluster, 'latch', name)
  }

  async countDown(options = {}) {
    return (await this._result('command', 'count_down', { n: options.n }, options)).count
  }

  async await(options = {}) {
    return (await this._result('blocking', 'await', {}, options)).open
  }

  async reset(options = {}) {
    return (await this._result('command', 'reset', { count: options.count }, options)).count
  }

  async count(options = {}) {
    return (await this._result('query', 'count', {}, options)).count
  }
}

/** A counter of 64 bits, perhaps with bounds. */
export class Counter extends DiwanObject {
  constructor(cluster, name) {
    super(cluster, 'counter', name)
  }

  async increment(options = {}) {
    return (await this._result('command', 'increment', { by: options.by }, options)).value
  }

  async decrement(options = {}) {
    return (await this._result('command', 'decrement', { by: options.by }, options)).value
  }

  async set(value, options = {}) {
    return this._result('command', 'set', { value }, options)
  }

  async swap(value, options = {}) {
    return this._result('command', 'swap', { value }, options)
  }

  async compareAndSet(expect, value, options = {}) {
    return this._result('command', 'compare_and_set', { expect, value }, options)
  }

  async await(options = {}) {
    return this._result('blocking', 'await', { at_least: options.atLeast, at_most: options.atMost, equals: options.equals }, options)
  }

  async get(options = {}) {
    return (await this._result('query', 'get', {}, options)).value
  }
}

/** Any JSON, with a version. */
export class Value extends DiwanObject {
  constructor(cluster, name) {
    super(cluster, 'value', name)
  }

  async set(value, options = {}) {
    return this._result('command', 'set', { value }, options)
  }

  async swap(value, options = {}) {
    return this._result('command', 'swap', { value }, options)
  }

  async compareAndSet(value, options = {}) {
    return this._result('command', 'compare_and_set', { value, expect: options.expect, version: options.version }, options)
  }

  async awaitChange(version, options = {}) {
    return this._result('blocking', 'await_change', { version }, options)
  }

  async get(options = {}) {
    return this._result('query', 'get', {}, options)
  }
}

/** A map, ordered by its keys. */
export class Map extends DiwanObject {
  constructor(cluster, name) {
    super(cluster, 'map', name)
  }

  async put(key, value, options = {}) {
    return this._result('command', 'put', { key, value, ttl_ms: options.ttlMs, if_version: options.ifVersion, if_absent: options.ifAbsent }, options)
  }

  async remove(key, options = {}) {
    return this._result('command', 'remove', { key, if_version: options.ifVersion }, options)
  }

  async add(key, options = {}) {
    return this._result('command', 'add', { key, by: options.by }, options)
  }

  async putAll(entries, options = {}) {
    return this._result('command', 'put_all', { entries }, options)
  }

  async clear(options = {}) {
    return (await this._result('command', 'clear', {}, options)).removed
  }

  async awaitChange(key, version, options = {}) {
    return this._result('blocking', 'await_change', { key, version }, options)
  }

  async get(key, options = {}) {
    return this._result('query', 'get', { key }, options)
  }

  async getAll(keys, options = {}) {
    return (await this._result('query', 'get_all', { keys }, options)).entries
  }

  async contains(key, options = {}) {
    return (await this._result('query', 'contains', { key }, options)).contains
  }

  async size(options = {}) {
    return this._result('query', 'size', {}, options)
  }

  async first(options = {}) {
    return (await this._result('query', 'first', {}, options)).entry
  }

  async last(options = {}) {
    return (await this._result('query', 'last', {}, options)).entry
  }

  async floor(key, options = {}) {
    return (await this._result('query', 'floor', { key }, options)).entry
  }

  async ceiling(key, options = {}) {
    return (await this._result('query', 'ceiling', { key }, options)).entry
  }

  async range(options = {}) {
    return this._result('query', 'range', { from: options.from, to: options.to, limit: options.limit }, options)
  }
}

/** A set of any JSON. */
export class Set extends DiwanObject {
  constructor(cluster, name) {
    super(cluster, 'set', name)
  }

  async add(items, options = {}) {
    return (await this._result('command', 'add', { items }, options)).added
  }

  async remove(items, options = {}) {
    return (await this._result('command', 'remove', { items }, options)).removed
  }

  async pop(options = {}) {
    return (await this._result('command', 'pop', { n: options.n }, options)).items
  }

  async contains(item, options = {}) {
    return (await this._result('query', 'contains', { item }, options)).contains
  }

  async size(options = {}) {
    return (await this._result('query', 'size', {}, options)).size
  }

  async members(options = {}) {
    return this._result('query', 'members', { after: options.after, limit: options.limit }, options)
  }
}

/** A queue. With a lease an item comes back unless it is acknowledged. */
export class Queue extends DiwanObject {
  constructor(cluster, name) {
    super(cluster, 'queue', name)
  }

  async put(item, options = {}) {
    return (await this._result('blocking', 'put', { item, priority: options.priority, delay_ms: options.delayMs }, options)).id
  }

  async take(options = {}) {
    return (await this._result('blocking', 'take', { n: options.n, lease_ms: options.leaseMs }, options)).items
  }

  async ack(ids, options = {}) {
    return (await this._result('owned', 'ack', { ids }, options)).acked
  }

  async nack(ids, options = {}) {
    return (await this._result('owned', 'nack', { ids, delay_ms: options.delayMs }, options)).nacked
  }

  async extend(ids, options = {}) {
    return (await this._result('owned', 'extend', { ids }, options)).extended
  }

  async replace(id, item, options = {}) {
    return (await this._result('command', 'replace', { id, item }, options)).replaced
  }

  async remove(id, options = {}) {
    return (await this._result('command', 'remove', { id }, options)).removed
  }

  async peek(options = {}) {
    return (await this._result('query', 'peek', { n: options.n }, options)).items
  }

  async list(options = {}) {
    return this._result('query', 'list', { after: options.after, limit: options.limit }, options)
  }

  async size(options = {}) {
    return this._result('query', 'size', {}, options)
  }

  async dead(options = {}) {
    return (await this._result('query', 'dead', { limit: options.limit }, options)).items
  }
}

/** A stack. */
export class Stack extends DiwanObject {
  constructor(cluster, name) {
    super(cluster, 'stack', name)
  }

  async push(item, options = {}) {
    return (await this._result('blocking', 'push', { item }, options)).size
  }

  async pop(options = {}) {
    return (await this._result('blocking', 'pop', { n: options.n }, options)).items
  }

  async peek(options = {}) {
    return (await this._result('query', 'peek', {}, options)).items
  }

  async items(options = {}) {
    return (await this._result('query', 'items', { limit: options.limit }, options)).items
  }

  async size(options = {}) {
    return (await this._result('query', 'size', {}, options)).size
  }
}

/** Entries under rising indexes. */
export class Log extends DiwanObject {
  constructor(cluster, name) {
    super(cluster, 'log', name)
  }

  async append(entry, options = {}) {
    return (await this._result('command', 'append', { entry }, options)).index
  }

  async trim(before, options = {}) {
    return this._result('command', 'trim', { before }, options)
  }

  async read(options = {}) {
    return this._result('either', 'read', { from: options.from, limit: options.limit }, options)
  }
}

/** Who is there. Members leave with their session. */
export class Membership extends DiwanObject {
  constructor(cluster, name) {
    super(cluster, 'membership', name)
  }

  async join(name, options = {}) {
    return this._result('owned', 'join', { name, data: options.data }, options)
  }

  async leave(name, options = {}) {
    return (await this._result('owned', 'leave', { name }, options)).epoch
  }

  async update(name, data, options = {}) {
    return (await this._result('owned', 'update', { name, data }, options)).epoch
  }

  async report(epoch, name, options = {}) {
    return this._result('owned', 'report', { epoch, name }, options)
  }

  async awaitChange(epoch, options = {}) {
    return this._result('blocking', 'await_change', { epoch }, options)
  }

  async awaitSize(options = {}) {
    return this._result('blocking', 'await_size', { n: options.n }, options)
  }

  async members(options = {}) {
    return this._result('query', 'members', {}, options)
  }
}

/** An election: one leader at a time, under a term. */
export class Election extends DiwanObject {
  constructor(cluster, name) {
    super(cluster, 'election', name)
  }

  async campaign(name, options = {}) {
    return this._result('blocking', 'campaign', { name, data: options.data }, options)
  }

  async resign(fence, options = {}) {
    return (await this._result('owned', 'resign', { fence }, options)).resigned
  }

  async proclaim(fence, data, options = {}) {
    return (await this._result('owned', 'proclaim', { fence, data }, options)).term
  }

  async observe(options = {}) {
    return this._result('blocking', 'observe', { term: options.term }, options)
  }

  async leader(options = {}) {
    return this._result('query', 'leader', {}, options)
  }

  async candidates(options = {}) {
    return (await this._result('query', 'candidates', {}, options)).candidates
  }

  lead(name, options = {}) {
    return this._hold('campaign', { name, data: options.data }, options, 'resign')
  }

  withLead(name, work, options = {}) {
    return this._within(this.lead(name, options), work)
  }
}

/** A token bucket for each key. */
export class RateLimiter extends DiwanObject {
  constructor(cluster, name) {
    super(cluster, 'ratelimiter', name)
  }

  async acquire(options = {}) {
    return this._result('blocking', 'acquire', { n: options.n, key: options.key }, options)
  }

  async configure(options = {}) {
    return this._result('command', 'configure', { per_second: options.perSecond, burst: options.burst }, options)
  }

  async peek(options = {}) {
    return this._result('query', 'peek', { key: options.key }, options)
  }
}

/** Numbers, or ULIDs, that are never given twice. */
export class Ids extends DiwanObject {
  constructor(cluster, name) {
    super(cluster, 'ids', name)
  }

  async next(options = {}) {
    return this._result('command', 'next', { n: options.n }, options)
  }

  async peek(options = {}) {
    return (await this._result('query', 'peek', {}, options)).next
  }
}

/** Records of names. */
export class Names extends DiwanObject {
  constructor(cluster, name) {
    super(cluster, 'names', name)
  }

  async set(name, record, options = {}) {
    return this._result('command', 'set', { name, record }, options)
  }

  async add(name, record, options = {}) {
    return this._result('command', 'add', { name, record }, options)
  }

  async remove(name, options = {}) {
    return this._result('command', 'remove', { name, record: options.record }, options)
  }

  async list(options = {}) {
    return this._result('query', 'list', { name: options.name, after: options.after, limit: options.limit }, options)
  }
}
