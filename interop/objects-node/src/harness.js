// Tests by name, and the servers that they are given.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { Cluster } from '../../../clients/javascript/src/index.js'

export const SERVERS = process.env.OBJECTS_SERVERS
export const KILLS = Number(process.env.KILLS ?? 4)
const PATIENCE_MS = 120_000 + 20_000 * KILLS
export const tests = []
export const rest = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
let names = 0
export const fresh = () => `js-${process.pid}-${++names}`
export const connect = (ttlMs = 5_000, more = {}) => new Cluster(SERVERS, { ttlMs, name: 'suite', ...more })

/** A test gets a cluster object of its own. */
export function test(name, run) {
  tests.push({ name, run })
}

/** Drives the servers. */
export async function control(...words) {
  return (await promisify(execFile)(process.env.OBJECTS_CONTROL, words)).stdout.trim()
}

export async function refused(slug, promise) {
  const error = await promise.then((result) => assert.fail(`${JSON.stringify(result)} in place of ${slug}`), (error) => error)
  assert.equal(error.slug, slug, `${error} in place of ${slug}`)
  return error
}

export async function eventually(condition) {
  for (const end = performance.now() + 20_000; !(await condition()); await rest(20)) {
    assert(performance.now() < end, 'it did not become true in time')
  }
}

export async function main(words) {
  let failed = false
  for (const { name, run } of tests) {
    if (words.length && !words.some((word) => name.includes(word))) continue
    await control('start')
    const cluster = connect()
    try {
      let late
      const patience = new Promise((_, reject) => (late = setTimeout(() => reject(new Error('it takes too long')), PATIENCE_MS)))
      await Promise.race([run(cluster), patience])
      clearTimeout(late)
      console.log(`ok ${name}`)
    } catch (error) {
      failed = true
      console.error(error)
      console.log(`not ok ${name} - ${String(error.message).replaceAll('\n', ' ')}`)
    }
    await cluster.close()
  }
  process.exit(failed ? 1 : 0)
}
