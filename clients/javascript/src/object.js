// What the classes of all types have in common: calls, and what is held.

import { randomUUID } from 'node:crypto'
import { ATTEMPT_MS, HOLD_MS } from './exchange.js'
import { Held, NotAcquired } from './held.js'
import { problemOf } from './problem.js'
import { RESERVE } from './session.js'

// How a grant is given back that nobody waits for any more: by which method, with which arguments.
const release = (got) => got.acquired && ['release', { fence: got.fence }]
const UNDO = {
  'lock.acquire': release,
  'rwlock.read': release,
  'rwlock.write': release,
  'semaphore.acquire': (got, args) => got.acquired && ['release', { n: args.n ?? 1, fence: got.fence }],
  'election.campaign': (got) => got.leader && ['resign', { fence: got.fence }],
  'queue.take': (got, args) => args.lease_ms && got.items.length && ['nack', { ids: got.items.map((item) => item.id) }],
}

/** Names as JavaScript writes them; an integer beyond 2^53 becomes a BigInt. */
function shown(result) {
  const named = {}
  for (const [name, value] of Object.entries(result)) {
    if (name.endsWith('_text') && name.slice(0, -5) in result) continue
    const exact = typeof value === 'number' && result[`${name}_text`]
    named[name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase())] = exact ? BigInt(exact) : value
  }
  return named
}

function encoded(args) {
  const told = Object.entries(args).filter(([, value]) => value !== undefined)
  if (told.length === 0) return ''
  const exact = ([name, value]) => (typeof value === 'bigint' ? [`${name}_text`, value.toString()] : [name, value])
  return JSON.stringify(Object.fromEntries(told.map(exact)))
}

export class DiwanObject {
  constructor(cluster, of, name) {
    this.cluster = cluster
    this.type = of
    this.name = name
    this.path = `/v1/objects/${of}/${encodeURIComponent(name)}`
  }

  /** Calls a method. The result as it came, and the session that it was called in. */
  async _call(kind, method, args, { waitMs, signal, stale } = {}) {
    const { exchange, session } = this.cluster
    const target = `${this.path}/${encodeURIComponent(method)}`
    const body = encoded(args)
    if (kind === 'query' || (kind === 'either' && !waitMs)) {
      const asked = stale ? `?consistency=stale&min_position=${exchange.position}` : ''
      return { result: (await exchange.send('POST', target + asked, { body, signal })).result }
    }
    if (kind === 'command' && session && !session.ended && !session.hasRoom(RESERVE / 2)) {
      // Very many calls are under way. This one needs no session.
      return { result: (await this.cluster.keyed('POST', target, { body, signal })).result }
    }
    for (let again = true; ; again = false) {
      const open = await this.cluster.open()
      try {
        return { result: await this.#numbered(open, kind, method, args, target, body, waitMs, signal), session: open }
      } catch (error) {
        if (error.slug !== 'session-expired') throw error
        open.end(error)
        if (!again || error.effect !== 'none') throw error
      }
    }
  }

  async #numbered(session, kind, method, args, target, body, waitMs, signal) {
    signal?.throwIfAborted()
    const waits = kind === 'blocking' || kind === 'either'
    // What gives back is not held up by what waits for it.
    const number = await session.number(waits && waitMs !== 0 ? RESERVE : 0)
    const end = waitMs === undefined ? undefined : performance.now() + waitMs
    const where = () => {
      const left = end === undefined ? '' : `&wait_ms=${Math.max(0, Math.floor(end - performance.now()))}`
      return waits ? `${target}?hold_ms=${HOLD_MS}${left}` : target
    }
    const options = { body, fields: () => session.fields(number), attemptMs: ATTEMPT_MS + (waits ? HOLD_MS : 0), signal }
    try {
      const { result } = await this.cluster.exchange.send('POST', where, options)
      session.answered(number)
      return result
    } catch (error) {
      // One without a grant is given up by its number: below the floor it has no effect any more.
      if (kind !== 'command' && (signal?.aborted || error.slug === 'outcome-unknown')) {
        // Nobody waits for the answer, but it may be a grant.
        this.cluster.later(this.#giveUp(session, number, method, args, target, body))
      } else {
        session.answered(number)
      }
      throw error
    }
  }

  /** Ends a call that nobody waits for: cancels it if it waits, gives back what it got. */
  async #giveUp(session, number, method, args, target, body) {
    const { exchange } = this.cluster
    const options = { body, fields: () => session.fields(number), patienceMs: session.ttlMs }
    try {
      let { status, result } = await exchange.send('POST', `${target}?wait_ms=0&hold_ms=0`, options)
      if (status === 202) {
        const cancelled = exchange.send('DELETE', `/v1/tickets/${result.ticket}`, { patienceMs: session.ttlMs })
        result = await cancelled.then(() => null, (error) => (error.slug === 'already-granted' ? error.result : null))
      }
      const back = result && UNDO[`${this.type}.${method}`]?.(result, args)
      if (back) await this._call('owned', ...back)
    } catch {
      // The session's end gives it back.
    } finally {
      session.answered(number)
    }
  }

  async _result(kind, method, args, options) {
    return shown((await this._call(kind, method, args, options)).result)
  }

  /** Acquires, and keeps watch. Waits again when the longest wait of the server has passed. */
  async _hold(method, args, options, back, more = {}) {
    for (;;) {
      const { result, session } = await this._call('blocking', method, args, options)
      if (result.acquired || result.leader) {
        const giveBack = () => this._call('owned', back, { fence: result.fence, ...more })
        return new Held(session, this.type, this.name, result.fence, giveBack)
      }
      if (options.waitMs !== undefined) throw new NotAcquired(`${this.type} ${this.name} was not acquired in time`)
    }
  }

  async _within(holding, work) {
    const held = await holding
    try {
      return await work(held)
    } finally {
      await held.release()
    }
  }

  /** Calls any method. */
  call(method, args = {}, options = {}) {
    return this._result('blocking', method, args, options)
  }

  /** Creates the object, with arguments named as on the wire. Whether it is new. */
  async create(args = {}) {
    return (await this.cluster.keyed('PUT', this.path, { body: encoded(args) })).result.created
  }

  /** What is known of the object. */
  async describe() {
    return (await this.cluster.exchange.send('GET', this.path)).result
  }

  /** Deletes the object, if it is that incarnation. */
  async delete(incarnation) {
    const fields = { 'idempotency-key': `"${randomUUID()}"`, ...(incarnation && { 'if-match': `"${incarnation}"` }) }
    await this.cluster.exchange.send('DELETE', this.path, { fields })
  }

  /** Makes up to 100 calls, `[method, args]` each, one behind the other. A result or a `Problem` for each. */
  async batch(calls) {
    const body = JSON.stringify({ calls: calls.map(([method, args = {}]) => ({ method, args })) })
    const { results } = (await this.cluster.keyed('POST', `${this.path}:batch`, { body })).result
    return results.map(({ result, problem }) => (problem ? problemOf(problem.status, JSON.stringify(problem)) : shown(result)))
  }
}
