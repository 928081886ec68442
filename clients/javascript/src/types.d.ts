// Made by clients/generate/main.py: the built-in types.

import type { Cluster, DiwanObject, Held, Integer, Json } from './index.js'

/** An entry of a map. */
export interface Entry {
  key: string
  value: Json
  version: Integer
}

/** An item of a queue. */
export interface Item {
  id: Integer
  item: Json
  attempt: Integer
}

/** A member of a membership. */
export interface Member {
  name: string
  data: Json
  session: string
  since: Integer
}

/** A name and its records. */
export interface NameRecords {
  name: string
  records: Json[]
}

/** A lock. `await` waits for a condition, and returns only with the lock. */
export class Lock extends DiwanObject {
  constructor(cluster: Cluster, name: string)
  acquire(options?: { owner?: string; waitMs?: number; signal?: AbortSignal }): Promise<{ acquired: boolean; fence?: Integer | null; holds?: Integer | null }>
  release(fence: Integer, options?: { signal?: AbortSignal }): Promise<Integer>
  steal(options?: { reason?: string; signal?: AbortSignal }): Promise<Integer>
  await(condition: string, fence: Integer, options?: { waitMs?: number; signal?: AbortSignal }): Promise<{ signalled: boolean; fence: Integer }>
  signal(condition: string, options?: { n?: Integer; signal?: AbortSignal }): Promise<Integer>
  signalAll(condition: string, options?: { signal?: AbortSignal }): Promise<Integer>
  holder(options?: { stale?: boolean; signal?: AbortSignal }): Promise<{ session?: string | null; owner?: string | null; fence?: Integer | null; holds: Integer; since?: Integer | null; waiting: Integer }>
  check(fence: Integer, options?: { stale?: boolean; signal?: AbortSignal }): Promise<boolean>
  hold(options?: { owner?: string; waitMs?: number; signal?: AbortSignal }): Promise<Held>
  with<T>(work: (held: Held) => T | Promise<T>, options?: { owner?: string; waitMs?: number; signal?: AbortSignal }): Promise<T>
}

/** A lock for one writer or many readers, in the order in which they came. */
export class RwLock extends DiwanObject {
  constructor(cluster: Cluster, name: string)
  read(options?: { waitMs?: number; signal?: AbortSignal }): Promise<{ acquired: boolean; fence?: Integer | null }>
  write(options?: { waitMs?: number; signal?: AbortSignal }): Promise<{ acquired: boolean; fence?: Integer | null }>
  downgrade(fence: Integer, options?: { signal?: AbortSignal }): Promise<Integer>
  release(fence: Integer, options?: { signal?: AbortSignal }): Promise<Integer>
  state(options?: { stale?: boolean; signal?: AbortSignal }): Promise<{ readers: Integer; writer?: string | null; fence?: Integer | null; waiting: Integer }>
  holdRead(options?: { waitMs?: number; signal?: AbortSignal }): Promise<Held>
  withRead<T>(work: (held: Held) => T | Promise<T>, options?: { waitMs?: number; signal?: AbortSignal }): Promise<T>
  holdWrite(options?: { waitMs?: number; signal?: AbortSignal }): Promise<Held>
  withWrite<T>(work: (held: Held) => T | Promise<T>, options?: { waitMs?: number; signal?: AbortSignal }): Promise<T>
}

/** Permits, in the order in which they were asked for. */
export class Semaphore extends DiwanObject {
  constructor(cluster: Cluster, name: string)
  acquire(options?: { n?: Integer; waitMs?: number; signal?: AbortSignal }): Promise<{ acquired: boolean; fence?: Integer | null; held?: Integer | null }>
  release(options?: { n?: Integer; fence?: Integer; signal?: AbortSignal }): Promise<Integer>
  drain(options?: { signal?: AbortSignal }): Promise<{ taken: Integer; fence?: Integer | null }>
  resize(by: Integer, options?: { signal?: AbortSignal }): Promise<{ permits: Integer; available: Integer }>
  available(options?: { stale?: boolean; signal?: AbortSignal }): Promise<{ available: Integer; permits: Integer; waiting: Integer }>
  hold(options?: { n?: Integer; waitMs?: number; signal?: AbortSignal }): Promise<Held>
  with<T>(work: (held: Held) => T | Promise<T>, options?: { n?: Integer; waitMs?: number; signal?: AbortSignal }): Promise<T>
}

/** A barrier, or a double one, which has `enter` and `leave` in place of `await`. */
export class Barrier extends DiwanObject {
  constructor(cluster: Cluster, name: string)
  await(options?: { waitMs?: number; signal?: AbortSignal }): Promise<{ index?: Integer | null; generation?: Integer | null }>
  enter(options?: { waitMs?: number; signal?: AbortSignal }): Promise<{ index?: Integer | null; generation?: Integer | null }>
  leave(options?: { waitMs?: number; signal?: AbortSignal }): Promise<boolean>
  reset(options?: { signal?: AbortSignal }): Promise<Integer>
  state(options?: { stale?: boolean; signal?: AbortSignal }): Promise<{ parties: Integer; waiting: Integer; inside: Integer; leaving: Integer; generation: Integer; broken: boolean }>
}

/** A latch: it opens when its count is 0. */
export class Latch extends DiwanObject {
  constructor(cluster: Cluster, name: string)
  countDown(options?: { n?: Integer; signal?: AbortSignal }): Promise<Integer>
  await(options?: { waitMs?: number; signal?: AbortSignal }): Promise<boolean>
  reset(options?: { count?: Integer; signal?: AbortSignal }): Promise<Integer>
  count(options?: { stale?: boolean; signal?: AbortSignal }): Promise<Integer>
}

/** A counter of 64 bits, perhaps with bounds. */
export class Counter extends DiwanObject {
  constructor(cluster: Cluster, name: string)
  increment(options?: { by?: Integer; signal?: AbortSignal }): Promise<Integer>
  decrement(options?: { by?: Integer; signal?: AbortSignal }): Promise<Integer>
  set(value: Integer, options?: { signal?: AbortSignal }): Promise<{ value: Integer; previous: Integer }>
  swap(value: Integer, options?: { signal?: AbortSignal }): Promise<{ value: Integer; previous: Integer }>
  compareAndSet(expect: Integer, value: Integer, options?: { signal?: AbortSignal }): Promise<{ swapped: boolean; value: Integer }>
  await(options?: { atLeast?: Integer; atMost?: Integer; equals?: Integer; waitMs?: number; signal?: AbortSignal }): Promise<{ reached: boolean; value: Integer }>
  get(options?: { stale?: boolean; signal?: AbortSignal }): Promise<Integer>
}

/** Any JSON, with a version. */
export class Value extends DiwanObject {
  constructor(cluster: Cluster, name: string)
  set(value: Json, options?: { signal?: AbortSignal }): Promise<{ version: Integer; previous: Json }>
  swap(value: Json, options?: { signal?: AbortSignal }): Promise<{ version: Integer; previous: Json }>
  compareAndSet(value: Json, options?: { expect?: Json; version?: Integer; signal?: AbortSignal }): Promise<{ swapped: boolean; version: Integer; value: Json }>
  awaitChange(version: Integer, options?: { waitMs?: number; signal?: AbortSignal }): Promise<{ changed: boolean; value: Json; version: Integer }>
  get(options?: { stale?: boolean; signal?: AbortSignal }): Promise<{ value: Json; version: Integer }>
}

/** A map, ordered by its keys. */
export class Map extends DiwanObject {
  constructor(cluster: Cluster, name: string)
  put(key: string, value: Json, options?: { ttlMs?: Integer; ifVersion?: Integer; ifAbsent?: boolean; signal?: AbortSignal }): Promise<{ stored: boolean; version: Integer; previous: Json }>
  remove(key: string, options?: { ifVersion?: Integer; signal?: AbortSignal }): Promise<{ removed: boolean; version: Integer; previous: Json }>
  add(key: string, options?: { by?: Integer; signal?: AbortSignal }): Promise<{ value: Integer; version: Integer }>
  putAll(entries: Record<string, Json>, options?: { signal?: AbortSignal }): Promise<{ stored: Integer; version: Integer }>
  clear(options?: { signal?: AbortSignal }): Promise<Integer>
  awaitChange(key: string, version: Integer, options?: { waitMs?: number; signal?: AbortSignal }): Promise<{ changed: boolean; value: Json; version: Integer }>
  get(key: string, options?: { stale?: boolean; signal?: AbortSignal }): Promise<{ value: Json; version: Integer }>
  getAll(keys: string[], options?: { stale?: boolean; signal?: AbortSignal }): Promise<Entry[]>
  contains(key: string, options?: { stale?: boolean; signal?: AbortSignal }): Promise<boolean>
  size(options?: { stale?: boolean; signal?: AbortSignal }): Promise<{ size: Integer; bytes: Integer }>
  first(options?: { stale?: boolean; signal?: AbortSignal }): Promise<Entry | null>
  last(options?: { stale?: boolean; signal?: AbortSignal }): Promise<Entry | null>
  floor(key: string, options?: { stale?: boolean; signal?: AbortSignal }): Promise<Entry | null>
  ceiling(key: string, options?: { stale?: boolean; signal?: AbortSignal }): Promise<Entry | null>
  range(options?: { from?: string; to?: string; limit?: Integer; stale?: boolean; signal?: AbortSignal }): Promise<{ entries: Entry[]; next?: string | null }>
}

/** A set of any JSON. */
export class Set extends DiwanObject {
  constructor(cluster: Cluster, name: string)
  add(items: Json[], options?: { signal?: AbortSignal }): Promise<Integer>
  remove(items: Json[], options?: { signal?: AbortSignal }): Promise<Integer>
  pop(options?: { n?: Integer; signal?: AbortSignal }): Promise<Json[]>
  contains(item: Json, options?: { stale?: boolean; signal?: AbortSignal }): Promise<boolean>
  size(options?: { stale?: boolean; signal?: AbortSignal }): Promise<Integer>
  members(options?: { after?: Json; limit?: Integer; stale?: boolean; signal?: AbortSignal }): Promise<{ items: Json[]; next?: Json | null }>
}

/** A queue. With a lease an item comes back unless it is acknowledged. */
export class Queue extends DiwanObject {
  constructor(cluster: Cluster, name: string)
  put(item: Json, options?: { priority?: Integer; delayMs?: Integer; waitMs?: number; signal?: AbortSignal }): Promise<Integer | null>
  take(options?: { n?: Integer; leaseMs?: Integer; waitMs?: number; signal?: AbortSignal }): Promise<Item[]>
  ack(ids: Integer[], options?: { signal?: AbortSignal }): Promise<Integer>
  nack(ids: Integer[], options?: { delayMs?: Integer; signal?: AbortSignal }): Promise<Integer>
  extend(ids: Integer[], options?: { signal?: AbortSignal }): Promise<Integer>
  replace(id: Integer, item: Json, options?: { signal?: AbortSignal }): Promise<boolean>
  remove(id: Integer, options?: { signal?: AbortSignal }): Promise<boolean>
  peek(options?: { n?: Integer; stale?: boolean; signal?: AbortSignal }): Promise<Item[]>
  list(options?: { after?: Integer; limit?: Integer; stale?: boolean; signal?: AbortSignal }): Promise<{ items: Item[]; next?: Integer | null }>
  size(options?: { stale?: boolean; signal?: AbortSignal }): Promise<{ size: Integer; ready: Integer; delayed: Integer; leased: Integer; dead: Integer }>
  dead(options?: { limit?: Integer; stale?: boolean; signal?: AbortSignal }): Promise<Item[]>
}

/** A stack. */
export class Stack extends DiwanObject {
  constructor(cluster: Cluster, name: string)
  push(item: Json, options?: { waitMs?: number; signal?: AbortSignal }): Promise<Integer | null>
  pop(options?: { n?: Integer; waitMs?: number; signal?: AbortSignal }): Promise<Json[]>
  peek(options?: { stale?: boolean; signal?: AbortSignal }): Promise<Json[]>
  items(options?: { limit?: Integer; stale?: boolean; signal?: AbortSignal }): Promise<Json[]>
  size(options?: { stale?: boolean; signal?: AbortSignal }): Promise<Integer>
}

/** Entries under rising indexes. */
export class Log extends DiwanObject {
  constructor(cluster: Cluster, name: string)
  append(entry: Json, options?: { signal?: AbortSignal }): Promise<Integer>
  trim(before: Integer, options?: { signal?: AbortSignal }): Promise<{ trimmed: Integer; first: Integer }>
  read(options?: { from?: Integer; limit?: Integer; waitMs?: number; signal?: AbortSignal }): Promise<{ entries: Json[]; first: Integer; next: Integer }>
}

/** Who is there. Members leave with their session. */
export class Membership extends DiwanObject {
  constructor(cluster: Cluster, name: string)
  join(name: string, options?: { data?: Json; signal?: AbortSignal }): Promise<{ epoch: Integer; members: Member[] }>
  leave(name: string, options?: { signal?: AbortSignal }): Promise<Integer>
  update(name: string, data: Json, options?: { signal?: AbortSignal }): Promise<Integer>
  report(epoch: Integer, name: string, options?: { signal?: AbortSignal }): Promise<{ reports: Integer; removed: boolean; epoch: Integer }>
  awaitChange(epoch: Integer, options?: { waitMs?: number; signal?: AbortSignal }): Promise<{ changed: boolean; epoch: Integer; members: Member[] }>
  awaitSize(options?: { n?: Integer; waitMs?: number; signal?: AbortSignal }): Promise<{ reached: boolean; epoch: Integer; members: Member[] }>
  members(options?: { stale?: boolean; signal?: AbortSignal }): Promise<{ enough: boolean; epoch: Integer; members: Member[] }>
}

/** An election: one leader at a time, under a term. */
export class Election extends DiwanObject {
  constructor(cluster: Cluster, name: string)
  campaign(name: string, options?: { data?: Json; waitMs?: number; signal?: AbortSignal }): Promise<{ leader: boolean; term?: Integer | null; fence?: Integer | null }>
  resign(fence: Integer, options?: { signal?: AbortSignal }): Promise<boolean>
  proclaim(fence: Integer, data: Json, options?: { signal?: AbortSignal }): Promise<Integer>
  observe(options?: { term?: Integer; waitMs?: number; signal?: AbortSignal }): Promise<{ name?: string | null; data?: Json | null; term?: Integer | null }>
  leader(options?: { stale?: boolean; signal?: AbortSignal }): Promise<{ name?: string | null; data?: Json | null; term?: Integer | null }>
  candidates(options?: { stale?: boolean; signal?: AbortSignal }): Promise<string[]>
  lead(name: string, options?: { data?: Json; waitMs?: number; signal?: AbortSignal }): Promise<Held>
  withLead<T>(name: string, work: (held: Held) => T | Promise<T>, options?: { data?: Json; waitMs?: number; signal?: AbortSignal }): Promise<T>
}

/** A token bucket for each key. */
export class RateLimiter extends DiwanObject {
  constructor(cluster: Cluster, name: string)
  acquire(options?: { n?: Integer; key?: string; waitMs?: number; signal?: AbortSignal }): Promise<{ granted: boolean; remaining: Integer; retryAfterMs: Integer }>
  configure(options?: { perSecond?: Integer; burst?: Integer; signal?: AbortSignal }): Promise<{ perSecond: Integer; burst: Integer }>
  peek(options?: { key?: string; stale?: boolean; signal?: AbortSignal }): Promise<{ remaining: Integer; perSecond: Integer; burst: Integer; waiting: Integer }>
}

/** Numbers, or ULIDs, that are never given twice. */
export class Ids extends DiwanObject {
  constructor(cluster: Cluster, name: string)
  next(options?: { n?: Integer; signal?: AbortSignal }): Promise<{ first: Json; last: Json }>
  peek(options?: { stale?: boolean; signal?: AbortSignal }): Promise<Json>
}

/** Records of names. */
export class Names extends DiwanObject {
  constructor(cluster: Cluster, name: string)
  set(name: string, record: Json, options?: { signal?: AbortSignal }): Promise<{ records: Integer; changed: boolean }>
  add(name: string, record: Json, options?: { signal?: AbortSignal }): Promise<{ records: Integer; changed: boolean }>
  remove(name: string, options?: { record?: Json; signal?: AbortSignal }): Promise<{ records: Integer; changed: boolean }>
  list(options?: { name?: string; after?: string; limit?: Integer; stale?: boolean; signal?: AbortSignal }): Promise<{ records?: Json[] | null; names?: NameRecords[] | null; next?: string | null }>
}
