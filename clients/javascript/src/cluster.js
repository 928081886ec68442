// The members of a cluster, and one session with it.

import { randomUUID } from 'node:crypto'
import { Exchange, addresses, encryption } from './exchange.js'
import { DiwanObject } from './object.js'
import { Problem } from './problem.js'
import { Session } from './session.js'
import { tokenSource } from './token.js'

export class Cluster {
  #opening = null
  #closed = false
  #later = new Set()
  #owners = 0
  session = null

  constructor(members = '127.0.0.1:7180', { ttlMs = 10_000, timeoutMs = 30_000, name, tls, token, tokenFile } = {}) {
    this.ttlMs = ttlMs
    this.name = name
    this.exchange = new Exchange(addresses(members), timeoutMs, encryption(members, tls), tokenSource({ token, tokenFile }))
  }

  /** The session: opened once, however many calls ask for it at once. */
  async open() {
    if (this.#closed) throw new Problem('closed', 'the cluster object is closed')
    if (this.session && !this.session.ended) return this.session
    this.#opening ??= this.#open().finally(() => (this.#opening = null))
    return this.#opening
  }

  async #open() {
    const session = new Session(this.exchange, this.ttlMs)
    await session.open(this.name, (session) => this.#checkLocks(session))
    this.session = session
    return session
  }

  /** Asks whether locks are still held. (The session's event stream would tell sooner, but it counts as a sign of life even
   * of a process that stands still.) */
  async #checkLocks(session) {
    for (const held of [...session.held].filter((held) => held.of === 'lock')) {
      const check = new DiwanObject(this, 'lock', held.name)._call('query', 'check', { fence: held.fence })
      const { result } = await check.catch(() => ({ result: { valid: true } }))
      if (!result.valid && session.held.has(held)) held.lose('it was taken away')
    }
  }

  /** An owner of its own for each call: promises have no threads. */
  owner() {
    return `p${++this.#owners}`
  }

  /** A request under an idempotency key. */
  keyed(method, target, options) {
    return this.exchange.send(method, target, { ...options, fields: { 'idempotency-key': `"${randomUUID()}"` } })
  }

  /** Work that is done before the cluster closes. */
  later(work) {
    this.#later.add(work)
    work.finally(() => this.#later.delete(work))
  }

  /** An object of any type. */
  object(type, name) {
    return new DiwanObject(this, type, name)
  }

  /** The objects of a type: `objects` and `next`. */
  async list(type, { prefix, after, limit } = {}) {
    const told = Object.entries({ type, prefix, after, limit }).filter(([, value]) => value !== undefined)
    return (await this.exchange.send('GET', `/v1/objects?${new URLSearchParams(told)}`)).result
  }

  /** Closes the session: what it holds is free at once. */
  async close() {
    await Promise.allSettled([...this.#later])
    this.#closed = true
    try {
      await this.session?.close()
    } catch {
      // What is left of it ends with its time to live.
    }
    this.exchange.close()
  }
}
