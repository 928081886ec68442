// Which member is asked: the leader, once a response has named it.

import assert from 'node:assert/strict'
import { Counter } from '../../../clients/javascript/src/index.js'
import { connect, control, fresh, test } from './harness.js'

const CALLS = 200

/** How many requests each member has had. */
const asked = () => Promise.all(['1', '2', '3'].map(async (number) => Number(await control('requests', number))))

/** Calls it; who leads and whom the requests went to, if that is not the leader throughout. */
async function strays(counter) {
  const [leader, before] = [Number(await control('leader')), await asked()]
  for (let number = 0; number < CALLS; number++) await counter.increment()
  const grown = (await asked()).map((after, place) => after - before[place])
  const others = grown.reduce((sum, more) => sum + more, 0) - grown[leader - 1]
  const kept = grown[leader - 1] >= CALLS && others < CALLS / 2
  return kept || Number(await control('leader')) !== leader ? undefined : `member ${leader} leads: ${grown}`
}

test('leader.requests_go_to_the_leader', async () => {
  // A cluster object begins with a member that it draws.
  for (let round = 0; round < 5; round++) {
    const cluster = connect()
    const counter = new Counter(cluster, fresh())
    for (let number = 0; number < 20; number++) await counter.increment()
    // One that was elected a moment ago may not have served then: it is shunned for 5 seconds, and another may be elected meanwhile.
    const end = performance.now() + 20_000
    for (let strayed; (strayed = await strays(counter)); ) assert.ok(performance.now() < end, strayed)
    await cluster.close()
  }
})
