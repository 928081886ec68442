// Who asks, while members die: tokens by name, by a file and by the environment; wrong ones, revoked ones, and replaced ones.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Cluster, Counter, Lock } from '../../../clients/javascript/src/index.js'
import { SERVERS, control, eventually, fresh, refused, rest, test } from './harness.js'

/** Access is closed meanwhile, and a principal has these rights: its name, and a file with its token. */
async function closed(rights, work) {
  const name = fresh()
  const file = join(dirname(process.env.OBJECTS_CONTROL), `${name}.token`)
  await control('close')
  try {
    await control('token', name, file, ...rights)
    await work(name, file)
  } finally {
    await control('open')
  }
}

const tokenIn = (file) => readFileSync(file, 'utf8').trim()

async function connected(options, work) {
  const cluster = new Cluster(SERVERS, options)
  try {
    await work(cluster)
  } finally {
    await cluster.close()
  }
}

test('tokens.token_says_who_asks_while_leaders_die', () =>
  closed(['counter/*:*'], async (_, file) => {
    let stop = false
    const count = async (options) => {
      let n = 0
      await connected(options, async (cluster) => {
        const counter = new Counter(cluster, fresh())
        while (!stop) {
          n += 1
          assert.equal(await counter.increment(), n)
          assert.equal(await counter.get(), n)
        }
      })
      return n
    }
    const counting = Promise.all([count({ token: tokenIn(file) }), count({ tokenFile: file })])
    counting.catch(() => {})
    for (let kill = 0; kill < 2; kill++) {
      await rest(500)
      await control('kill', 'leader')
      await control('start')
    }
    stop = true
    assert(Math.min(...(await counting)) > 2)
    await connected({ token: tokenIn(file) }, async (cluster) => {
      const problem = await refused('forbidden', new Lock(cluster, fresh()).acquire({ waitMs: 0 }))
      assert.deepEqual([problem.effect, problem.retry], ['none', 'no'])
      assert.match(problem.detail, /administrator/)
    })
    await connected({}, async (cluster) => {
      const problem = await refused('unauthenticated', new Counter(cluster, fresh()).increment())
      assert.equal(problem.effect, 'none')
      assert.match(problem.detail, /Authorization/)
    })
  }))

test('tokens.environment_says_who_asks', () =>
  closed(['counter/*:*'], async (_, file) => {
    for (const [name, value] of [['DIWAN_TOKEN', tokenIn(file)], ['DIWAN_TOKEN_FILE', file]]) {
      process.env[name] = value
      const counting = connected({}, async (cluster) => assert.equal(await new Counter(cluster, fresh()).increment(), 1))
      delete process.env[name]
      await counting
    }
    for (const wrong of [{ token: 'diwan_1' }, { token: tokenIn(file), tokenFile: file }, { tokenFile: '/nowhere' }]) {
      assert.throws(() => new Cluster(SERVERS, wrong))
    }
  }))

test('tokens.wrong_and_revoked_tokens_are_refused_at_once', async () => {
  const began = performance.now()
  await connected({ token: `diwan_${'1'.repeat(64)}` }, async (cluster) => {
    const counter = new Counter(cluster, 'c')
    for (const call of [() => counter.increment(), () => counter.get(), () => new Lock(cluster, 'l').acquire()]) {
      const problem = await refused('unauthenticated', call())
      assert.deepEqual([problem.status, problem.effect, problem.retry], [401, 'none', 'no'])
    }
  })
  assert(performance.now() - began < 10_000, 'what cannot change was tried again and again')
  await closed(['counter/*:*', 'lock/*:*'], (name, file) =>
    connected({ token: tokenIn(file), ttlMs: 2_000 }, async (cluster) => {
      const held = await new Lock(cluster, fresh()).hold()
      await control('revoke', name)
      assert.equal((await refused('unauthenticated', new Counter(cluster, fresh()).increment())).effect, 'none')
      await eventually(() => held.lost)
    }))
})

test('tokens.file_is_read_again_when_its_token_was_replaced', () =>
  closed(['counter/*:*', 'lock/*:*'], (name, file) =>
    connected({ tokenFile: file, ttlMs: 4_000 }, async (cluster) => {
      const held = await new Lock(cluster, fresh()).hold()
      const counter = new Counter(cluster, fresh())
      for (let n = 0, turn = 0; turn < 3; turn++) {
        const first = tokenIn(file)
        await control('token', name, file)
        assert.notEqual(tokenIn(file), first)
        for (const end = performance.now() + 2_000; performance.now() < end; await rest(50)) {
          assert.equal(await counter.increment(), ++n)
        }
      }
      // The heartbeats, of another thread, came by the new ones.
      assert(!held.lost)
      await held.release()
    })))
