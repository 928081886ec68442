// Members that speak TLS alone. Without OBJECTS_KEYS they speak plain text, and there is nothing to do here.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { Cluster, Counter } from '../../../clients/javascript/src/index.js'
import { SERVERS, fresh, refused, test } from './harness.js'

const keys = process.env.OBJECTS_KEYS
const key = (name) => readFileSync(`${keys}/${name}`)
const bare = () => SERVERS.replaceAll('https://', '')

async function unencrypted(slug, tls) {
  const cluster = new Cluster(bare(), { tls })
  const began = performance.now()
  const problem = await refused(slug, new Counter(cluster, fresh()).increment())
  assert.equal(problem.effect, 'none')
  assert(performance.now() - began < 10_000, 'what cannot change was tried again and again')
  await cluster.close()
}

if (keys) {
  test('tls.authority_that_is_named_is_trusted', async () => {
    const own = { cert: key('client.pem'), key: key('client.pem') }
    for (const tls of [{ ca: key('ca.pem') }, { ca: key('ca.pem'), ...own }, true]) {
      const cluster = new Cluster(bare(), { tls, ttlMs: 1_000 })
      const counter = new Counter(cluster, fresh())
      assert.equal(await counter.increment(), 1)
      // The heartbeat's thread has the same keys.
      await new Promise((resolve) => setTimeout(resolve, 1_500))
      assert.equal(await counter.increment(), 2)
      assert.equal(cluster.session.ended, null)
      await cluster.close()
    }
  })

  test('tls.other_side_that_is_not_trusted_is_refused_at_once', async () => {
    await unencrypted('no-tls', { ca: key('foreign-ca.pem') })
    await unencrypted('no-tls', { ca: key('ca.pem'), cert: key('stranger.pem'), key: key('stranger.pem') })
    await unencrypted('tls-required', false)
  })
}
