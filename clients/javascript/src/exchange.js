// Requests: which member they go to, and again until they are answered. Also the heartbeat's, on a thread of its own.

import http from 'node:http'
import https from 'node:https'
import { Problem, problemOf } from './problem.js'
import { Credentials } from './token.js'

export const ATTEMPT_MS = 5_000
export const HOLD_MS = 10_000
// For how long a member that did not serve is not gone to because a response names it.
const SHUN_MS = 5_000
// Refusals of members, not of the replicated state: the same request is sent again.
const AGAIN = new Set(['no-leader', 'outcome-unknown', 'rate', 'bad-response', 'too-slow'])

const listed = (members) => (Array.isArray(members) ? members : members.split(',')).map((member) => member.trim())

export function addresses(members) {
  return listed(members).map((member) => {
    // A scheme without a port of its own: the others forget theirs.
    const url = new URL(`diwan://${member.replace(/^https?:\/\//, '')}`)
    return `${url.hostname}:${url.port || 7180}`
  })
}

/** The options of encryption, as `tls.connect` takes them; null for plain text. */
export function encryption(members, tls) {
  if (tls) return tls === true ? {} : tls
  return listed(members).some((member) => member.startsWith('https://')) ? {} : null
}

// How errors are called when two sides do not agree on encryption. Nothing of a request was looked at then.
const DISAGREEMENT = /^(ERR_SSL_|ERR_TLS_|EPROTO|CERT_|SELF_SIGNED|UNABLE_TO_|DEPTH_ZERO)/

export const rest = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

export class Exchange {
  /** `source`: where the token comes from, if anybody is to be known: see `tokenSource`. */
  constructor(members, timeoutMs, tls = null, source = {}) {
    this.source = source
    this.credentials = new Credentials(source)
    this.members = members
    this.tls = tls
    this.timeoutMs = timeoutMs
    this.current = Math.floor(Math.random() * members.length)
    // When members did not serve.
    this.failures = new Map()
    this.position = 0
    this.transport = tls ? https : http
    this.agent = new this.transport.Agent({ keepAlive: true, maxFreeSockets: 64, noDelay: true, ...tls })
  }

  failed(member) {
    this.failures.set(member, performance.now())
    if (this.members[this.current] === member) this.current = (this.current + 1) % this.members.length
  }

  /**
   * Takes note of what a response says; whether it names a leader to which we go next. Only to one whose address was given: what
   * a response says must not send a token anywhere else. Nor to one that did not serve a moment ago.
   */
  heard(fields) {
    const position = Number(fields['diwan-position'])
    if (position > this.position) this.position = position
    const leader = this.members.indexOf(fields['diwan-leader'])
    if (leader < 0 || performance.now() - (this.failures.get(this.members[leader]) ?? -SHUN_MS) < SHUN_MS) return false
    this.current = leader
    return true
  }

  /** One attempt at one member, and another one by a token that has replaced the one that was refused. */
  async once(method, target, fields, body, attemptMs, signal) {
    const { token } = this.credentials
    try {
      return await this.#attempt(method, target, fields, body, attemptMs, signal)
    } catch (error) {
      if (error.slug !== 'unauthenticated' || !this.credentials.replaced(token)) throw error
    }
    return this.#attempt(method, target, fields, body, attemptMs, signal)
  }

  async #attempt(method, target, fields, body, attemptMs, signal) {
    const member = this.members[this.current]
    let answer
    try {
      answer = await this.#send(member, method, target, fields, body, attemptMs, signal)
    } catch (error) {
      if (!signal?.aborted) this.failed(member)
      throw error
    }
    const follows = this.heard(answer.fields)
    if (answer.status < 400) return { status: answer.status, result: answer.body ? JSON.parse(answer.body) : {} }
    const refused = problemOf(answer.status, answer.body)
    if (AGAIN.has(refused.slug) && !follows) this.failed(member)
    throw refused
  }

  #send(member, method, target, fields, body, attemptMs, signal) {
    const colon = member.lastIndexOf(':')
    const where = { host: member.slice(0, colon).replace(/[[\]]/g, ''), port: Number(member.slice(colon + 1)) }
    const headers = { ...fields }
    if (this.credentials.token != null) headers.authorization = `Bearer ${this.credentials.token}`
    if (body || method === 'POST' || method === 'PUT') headers['content-length'] = Buffer.byteLength(body ?? '')
    if (body) headers['content-type'] = 'application/json'
    return new Promise((resolve, reject) => {
      const request = this.transport.request({ ...where, method, path: target, headers, agent: this.agent, signal })
      const late = setTimeout(() => request.destroy(new Error('no answer in time')), attemptMs)
      const fail = (error) => {
        clearTimeout(late)
        reject(error)
      }
      request.on('error', fail)
      request.on('response', (response) => {
        const pieces = []
        response.on('data', (piece) => pieces.push(piece))
        response.on('error', fail)
        response.on('aborted', () => fail(new Error('half a response')))
        response.on('end', () => {
          clearTimeout(late)
          resolve({ status: response.statusCode, fields: response.headers, body: Buffer.concat(pieces).toString() })
        })
      })
      request.end(body)
    })
  }

  /** Sends a request until it is answered. `target` and `fields` may be functions: they are asked before each attempt. */
  async send(method, target, { body, fields = {}, patienceMs = this.timeoutMs, attemptMs = ATTEMPT_MS, signal } = {}) {
    let [end, pause, unanswered, unencrypted, waits, last] = [performance.now() + patienceMs, 10, false, 0, false, null]
    for (;;) {
      signal?.throwIfAborted()
      const where = typeof target === 'function' ? target() : target
      try {
        const with_ = typeof fields === 'function' ? fields() : fields
        const answer = await this.once(method, where, with_, body, attemptMs, signal)
        if (answer.status !== 202 || where.includes('hold_ms=0')) return answer
        // It waits: we ask again, and join it.
        ;[end, pause, unanswered, unencrypted, waits] = [performance.now() + patienceMs, 10, false, 0, true]
        continue
      } catch (error) {
        signal?.throwIfAborted()
        if (error instanceof Problem && !AGAIN.has(error.slug)) {
          // An attempt before this one may have had the effect whose memory is gone.
          if (unanswered && ['request-forgotten', 'session-expired'].includes(error.slug)) error.effect = 'unknown'
          // A member that lets nobody in does not look whether there was an attempt before: we know.
          if (['unauthenticated', 'forbidden'].includes(error.slug)) {
            Object.assign(error, unanswered || waits ? { effect: 'unknown', retry: 'same-key' } : { effect: 'none', retry: 'no' })
          }
          throw error
        }
        unencrypted = DISAGREEMENT.test(error.code) ? unencrypted + 1 : 0
        if (unencrypted >= this.members.length) {
          throw new Problem('no-tls', error.message, { effect: unanswered ? 'unknown' : 'none' })
        }
        unanswered ||= !unencrypted && error.effect !== 'none'
        last = error
      }
      if (performance.now() + pause > end) {
        if (!unanswered) throw last
        throw new Problem('outcome-unknown', last.message, { status: 504, effect: 'unknown', retry: 'same-key' })
      }
      await rest(pause * (0.5 + Math.random()))
      pause = Math.min(2 * pause, 500)
    }
  }

  close() {
    this.agent.destroy()
  }
}
