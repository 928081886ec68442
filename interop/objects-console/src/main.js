// The suite of the console.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { Browser, eventually } from './browser.js'

const SERVER = process.env.OBJECTS_SERVERS.split(',')[0]
const ORIGIN = SERVER.includes('://') ? SERVER : `http://${SERVER}`
const tests = []
const test = (name, run) => tests.push({ name, run })
let names = 0
const fresh = () => `console-${process.pid}-${++names}`
const control = async (...words) => (await promisify(execFile)(process.env.OBJECTS_CONTROL, words)).stdout.trim()

async function ask(method, target, body, headers = {}) {
  const response = await fetch(`${ORIGIN}${target}`, { method, body: body && JSON.stringify(body), headers })
  return { status: response.status, result: JSON.parse(await response.text()) }
}

/** A session, and its credential. */
async function session(name) {
  const { result } = await ask('POST', '/v1/sessions', { ttl_ms: 60_000, name })
  return { id: result.session, credential: `${result.session}.${result.secret}` }
}

const acquire = (own, number, lock) =>
  ask('POST', `/v1/objects/lock/${lock}/acquire?hold_ms=0`, {}, { 'Diwan-Session': own.credential, 'Diwan-Request': String(number) })

test('console.method_is_called_and_the_state_is_shown', async (browser) => {
  await browser.visit(`counter/${fresh()}`)
  assert.equal((await browser.call('increment', { by: '7' })).value, 7)
  await browser.shows('the state', 'get  {"value":7}')
  await browser.shows('the event', 'created')
  // A number has more digits than a browser keeps.
  const whole = browser.form('set')
  whole.fill({ value: '9223372036854775807' })
  whole.call()
  await eventually('it is answered', () => whole.result().includes('9223372036854775807'))
})

test('console.lock_is_acquired_and_released_by_the_session_that_the_call_opened', async (browser) => {
  const name = fresh()
  await browser.visit(`lock/${name}`)
  const held = await browser.call('acquire', { ttl_ms: '60000' })
  assert.equal(held.acquired, true)
  assert.ok(browser.one('#session').value.startsWith(`${held.session}.`), 'the session is kept')
  await browser.shows('the event', `"session":"${held.session}"`)
  assert.equal((await browser.call('release', { fence: String(held.fence) })).holds, 0)
  await browser.shows('the event', 'released')
})

test('console.session_that_is_entered_takes_no_number_of_its_program', async (browser) => {
  const [own, name] = [await session('program'), fresh()]
  const first = await acquire(own, 1, name)
  browser.type('#session', own.credential)
  browser.submit('#who')
  await browser.visit(`lock/${name}`)
  assert.equal((await browser.call('release', { fence: String(first.result.fence) })).holds, 0, 'no repeat of number 1')
  const again = await browser.call('acquire')
  assert.ok(again.fence > first.result.fence)
  // Nothing of the program's is acknowledged: its own number is answered what it was answered.
  assert.deepEqual((await acquire(own, 1, name)).result, first.result)
  const second = await ask('POST', `/v1/objects/lock/${name}/release`, { fence: again.fence }, { 'Diwan-Session': own.credential, 'Diwan-Request': '2' })
  assert.equal(second.status, 200, JSON.stringify(second))
  // A page that is loaded again goes on with its numbers.
  const stored = { session: own.credential, numbers: browser.window.sessionStorage.getItem('numbers') }
  const reloaded = await Browser.open(SERVER, { stored })
  await reloaded.visit(`lock/${name}`)
  assert.ok((await reloaded.call('acquire')).fence > again.fence)
  reloaded.close()
})

test('console.call_with_a_session_goes_on_when_nobody_waits_for_it_here', async (browser) => {
  const [own, other, name] = [await session('own'), await session('other'), fresh()]
  const { result: { fence } } = await acquire(other, 1, name)
  browser.type('#session', own.credential)
  browser.submit('#who')
  await browser.visit(`lock/${name}`)
  const form = browser.form('acquire')
  form.call()
  await eventually('it waits', async () => (await ask('GET', `/v1/objects/lock/${name}`)).result.waiting === 1)
  assert.equal(form.cancel().textContent, 'Stop waiting here')
  form.cancel().click()
  await eventually('the page says so', () => form.result().includes('it goes on'))
  await ask('POST', `/v1/objects/lock/${name}/release`, { fence }, { 'Diwan-Session': other.credential, 'Diwan-Request': '2' })
  await eventually('its session holds it', async () => (await ask('GET', `/v1/objects/lock/${name}/holder`)).result.session === own.id)
})

test('console.call_without_a_session_is_cancelled', async (browser) => {
  const name = fresh()
  await browser.visit(`queue/${name}`)
  const form = browser.form('take')
  form.call()
  await eventually('it waits', async () => (await ask('GET', `/v1/objects/queue/${name}`)).result.waiting === 1)
  assert.equal(form.cancel().textContent, 'Cancel')
  form.cancel().click()
  await eventually('it waits no more', async () => (await ask('GET', `/v1/objects/queue/${name}`)).status === 404)
})

test('console.object_is_deleted_only_when_the_question_is_answered_so', async (browser) => {
  const name = fresh()
  browser.type('#new-name', `queue/${name}`)
  browser.type('#new-arguments', '{"capacity":3}')
  browser.submit('#create')
  await eventually('it is shown', () => browser.one('#main h2')?.textContent === `queue/${name}`)
  browser.button('Delete').click()
  assert.ok((await browser.answer('no')).includes(`Delete queue/${name}?`))
  assert.equal((await ask('GET', `/v1/objects/queue/${name}`)).status, 200)
  browser.button('Delete').click()
  await browser.answer('yes')
  await browser.shows('it says so', 'It is deleted.')
  assert.equal((await ask('GET', `/v1/objects/queue/${name}`)).status, 404)
})

test('console.html_in_names_and_values_stays_text', async (browser) => {
  const name = `${fresh()}<img src=x onerror=alert(1)>`
  await browser.visit(`map/${name}`)
  await browser.call('put', { key: '<script>', value: '"<b onclick=alert(2)>bold</b>"' })
  await browser.call('get', { key: '<script>' })
  browser.type('#prefix', 'console-')
  browser.submit('#filter')
  await eventually('it is listed', () => browser.text('#objects').includes('<img'))
  assert.equal(browser.all('#main img, #main b, #main script, #objects img').length, 0)
  await browser.shows('the value', '<b onclick=alert(2)>')
})

test('console.waits_and_sessions_that_wait_for_each_other_are_shown', async (browser) => {
  const [one, other, x, y] = [await session('<i>one</i>'), await session('other'), fresh(), fresh()]
  await acquire(one, 1, x)
  await acquire(other, 1, y)
  await acquire(one, 2, y)
  browser.type('#prefix', `console-${process.pid}`)
  browser.one('#waits').click()
  await browser.shows('the call', `lock/${y}`, '#waiting-calls')
  await browser.shows('the holder', `${other.id.slice(0, 8)} (other), fence`, '#waiting-calls')
  assert.equal(browser.one('#cycles'), null)
  await acquire(other, 2, x)
  browser.one('#waits').click()
  const [a, b] = [`${one.id.slice(0, 8)} (<i>one</i>)`, `${other.id.slice(0, 8)} (other)`]
  const ways = [`${a} waits for lock/${y} of ${b}, which waits for lock/${x} of ${a}`, `${b} waits for lock/${x} of ${a}, which waits for lock/${y} of ${b}`]
  await eventually('the cycle', () => ways.includes(browser.text('#cycles li')))
  assert.equal(browser.all('#main i').length, 0)
  await ask('DELETE', `/v1/sessions/${one.id}`, undefined, { 'Diwan-Session': one.credential })
  browser.one('#waits').click()
  await browser.shows('nobody waits', 'No call waits.')
})

test('console.refusal_is_shown', async (browser) => {
  await browser.visit(`lock/${fresh()}`)
  browser.form('acquire').call()
  await browser.shows('why', 'bad-argument', '#problem')
  assert.equal(browser.one('#problem').hidden, false)
})

let failed = false
const words = process.argv.slice(2)
for (const { name, run } of tests) {
  if (words.length && !words.some((word) => name.includes(word))) continue
  await control('start')
  let browser
  try {
    browser = await Browser.open(SERVER)
    await run(browser)
    console.log(`ok ${name}`)
  } catch (error) {
    failed = true
    console.error(error)
    console.log(`not ok ${name} - ${String(error.message).replaceAll('\n', ' ')}`)
  }
  browser?.close()
}
process.exit(failed ? 1 : 0)
