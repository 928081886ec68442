// The session of a cluster object: its numbers, its heartbeat, and what it holds.

import { randomBytes } from 'node:crypto'
import { Worker } from 'node:worker_threads'
import { Acknowledged } from './acknowledged.js'
import { Problem } from './problem.js'

// Requests that may be without an answer, as the server bounds them, and how many of them calls that wait leave to the others.
const WINDOW = 64
export const RESERVE = 16
const random = () => randomBytes(16).toString('hex')

export class Session {
  #exchange
  #next = 1
  #answers = new Acknowledged()
  #room = []
  // When the last renewal was sent that was answered (nanoseconds), and whether the session has ended: the heartbeat's.
  // Nothing that the session holds is taken for held beyond three quarters of its time to live from then on: before any
  // server lets it expire.
  #renewed = new BigInt64Array(new SharedArrayBuffer(16))
  #worker
  #watch
  #check
  held = new Set()
  ended = null

  constructor(exchange, ttlMs) {
    this.#exchange = exchange
    this.ttlMs = ttlMs
    this.id = random()
    this.header = `${this.id}.${random()}`
    this.proof = { 'diwan-session': this.header }
  }

  async open(name, checkLocks) {
    Atomics.store(this.#renewed, 0, process.hrtime.bigint())
    // The id and the secret are ours, so the request can be repeated.
    const body = JSON.stringify({ ttl_ms: this.ttlMs, ...(name && { name }) })
    await this.#exchange.send('POST', '/v1/sessions', { body, fields: this.proof })
    const workerData = {
      members: this.#exchange.members, tls: this.#exchange.tls, source: this.#exchange.source,
      id: this.id, header: this.header, ttlMs: this.ttlMs, shared: this.#renewed.buffer,
    }
    this.#worker = new Worker(new URL('./heartbeat.js', import.meta.url), { workerData })
    this.#worker.on('message', (slug) => this.end(new Problem(slug, 'the session has ended', { status: 410 })))
    this.#worker.unref()
    this.#watch = setInterval(() => this.isLate() && this.lose('no renewal was answered in time'), this.ttlMs / 20).unref()
    this.#check = setInterval(() => checkLocks(this), this.ttlMs / 6).unref()
  }

  /** Whether the time has passed in which the session was surely alive. */
  isLate() {
    const left = Atomics.load(this.#renewed, 0) + BigInt(Math.floor(this.ttlMs * 750_000)) - process.hrtime.bigint()
    return left <= 0n || Atomics.load(this.#renewed, 1) === 1n
  }

  hasRoom(reserve = 0) {
    return this.#answers.unanswered(this.#next - 1) < WINDOW - reserve
  }

  /** The number of the next request, once there is room for it. */
  async number(reserve = 0) {
    while (!this.ended && !this.hasRoom(reserve)) await new Promise((resolve) => this.#room.push(resolve))
    if (this.ended) throw this.ended
    return this.#next++
  }

  /** The reply to that request has come, or nobody wants it any more. */
  answered(number) {
    this.#answers.add(number)
    this.#wake()
  }

  #wake() {
    this.#room.splice(0).forEach((resolve) => resolve())
  }

  fields(number) {
    return { ...this.proof, 'diwan-request': number, 'diwan-acknowledged': `${this.#answers}` }
  }

  lose(why) {
    for (const held of [...this.held]) held.lose(why)
  }

  end(why) {
    if (this.ended) return
    this.ended = why
    clearInterval(this.#watch)
    clearInterval(this.#check)
    this.#worker?.terminate()
    this.#wake()
    this.lose('the session has ended')
  }

  async close() {
    if (this.ended) return
    this.end(new Problem('session-expired', 'the session was closed', { status: 410 }))
    await this.#exchange.send('DELETE', `/v1/sessions/${this.id}`, { fields: this.proof, patienceMs: 2_000 })
  }
}
