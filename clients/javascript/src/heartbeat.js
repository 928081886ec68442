// The heartbeat of a session, on a thread of its own: what blocks the main thread does not stop it.

import { parentPort, workerData } from 'node:worker_threads'
import { Exchange, rest } from './exchange.js'
import { Problem } from './problem.js'

const { members, tls, source, id, header, ttlMs, shared } = workerData
const renewed = new BigInt64Array(shared)
const exchange = new Exchange(members, ttlMs, tls, source)
const pause = ttlMs / 6

for (let ended = false; !ended; ) {
  const sent = process.hrtime.bigint()
  try {
    await exchange.once('POST', `/v1/sessions/${id}/renew`, { 'diwan-session': header }, '', Math.max(pause, 200))
    Atomics.store(renewed, 0, sent)
    await rest(pause)
  } catch (error) {
    if (error instanceof Problem && [401, 403, 410].includes(error.status)) {
      Atomics.store(renewed, 1, 1n)
      parentPort.postMessage(error.slug)
      ended = true
    } else {
      await rest(50)
    }
  }
}
