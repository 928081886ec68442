// The console in a browser without a screen: the page and the script that a member serves, and a person who types and clicks.
//
// jsdom has no `fetch`, no streams and no dialogs that open: the first two are Node's own, and dialogs are opened and closed here.

import { JSDOM } from 'jsdom'

const PATIENCE_MS = 20_000
export const rest = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

export async function eventually(what, condition) {
  for (const end = performance.now() + PATIENCE_MS; ; await rest(20)) {
    const found = await condition()
    if (found) return found
    if (performance.now() > end) throw new Error(`it did not come to this: ${what}`)
  }
}

export class Browser {
  /** Opens the page. `stored` is what an earlier page of this window has stored. */
  static async open(server, { stored = {}, hash = '' } = {}) {
    const origin = server.includes('://') ? server : `http://${server}`
    const page = await (await fetch(`${origin}/console/objects`)).text()
    const script = await (await fetch(`${origin}/console/objects.js`)).text()
    const dom = new JSDOM(page, { url: `${origin}/console/objects${hash}`, runScripts: 'outside-only', pretendToBeVisual: true })
    const browser = new Browser(dom)
    const { window } = dom
    window.fetch = (target, init = {}) => {
      browser.sent.push({ target, method: init.method ?? 'GET', headers: { ...init.headers }, body: init.body })
      return fetch(new URL(target, origin), init)
    }
    Object.assign(window, { AbortController, AbortSignal, TextDecoderStream, URLSearchParams })
    window.HTMLDialogElement.prototype.showModal = function showModal() { this.setAttribute('open', '') }
    for (const [name, value] of Object.entries(stored)) window.sessionStorage.setItem(name, value)
    window.eval(script)
    await eventually('the page lists types', () => browser.one('#type option[value=lock]'))
    return browser
  }

  constructor(dom) {
    this.dom = dom
    this.window = dom.window
    /** What the script has asked for. */
    this.sent = []
  }

  one(selector) { return this.window.document.querySelector(selector) }
  all(selector) { return [...this.window.document.querySelectorAll(selector)] }
  text(selector = '#main') { return this.one(selector)?.textContent ?? '' }
  type(selector, value) { this.one(selector).value = value }
  submit(selector) { this.one(selector).dispatchEvent(new this.window.Event('submit', { cancelable: true, bubbles: true })) }

  button(words) {
    return this.all('button').find((button) => button.textContent === words)
  }

  async shows(what, words, selector = '#main') {
    await eventually(`${what}: "${words}" in "${this.text(selector)}"`, () => this.text(selector).includes(words))
  }

  /** Goes to an object. */
  async visit(path) {
    const [type, ...name] = path.split('/')
    this.window.location.hash = `${encodeURIComponent(type)}/${encodeURIComponent(name.join('/'))}`
    await eventually(`${path} is shown`, () => this.one('#main h2')?.textContent === path)
    await this.shows('its description', 'incarnation').catch(() => {})
  }

  /** The form of a method of the object that is shown. */
  form(method) {
    const details = this.all('#main details').find((one) => one.querySelector('summary').firstChild.textContent.trim() === method)
    if (!details) throw new Error(`no form of ${method}`)
    const fields = [...details.querySelectorAll('label')].map((label) => [label.firstChild.textContent.trim(), label.querySelector('input,textarea,select')])
    return {
      details,
      fill: (values) => Object.entries(values).forEach(([name, value]) => { fields.find(([own]) => own === name)[1].value = value }),
      call: () => details.querySelector('form').dispatchEvent(new this.window.Event('submit', { cancelable: true, bubbles: true })),
      result: () => details.querySelector('pre').textContent,
      cancel: () => [...details.querySelectorAll('button')].find((button) => button.type === 'button'),
    }
  }

  /** Calls a method, and gives its result. */
  async call(method, values = {}) {
    const form = this.form(method)
    form.fill(values)
    form.details.querySelector('pre').textContent = ''
    form.call()
    await eventually(`${method} is answered; ${this.text('#problem')}`, () => form.result())
    return JSON.parse(form.result())
  }

  /** Answers the question that the page asks. */
  async answer(value) {
    const dialog = this.one('#sure')
    await eventually('the page asks', () => dialog.hasAttribute('open'))
    const asked = this.text('#sure-text')
    dialog.removeAttribute('open')
    dialog.returnValue = value
    dialog.dispatchEvent(new this.window.Event('close'))
    return asked
  }

  /** The page asks for nothing any more. Its document stays: what is under way may still show something. */
  close() { this.window.fetch = () => new Promise(() => {}) }
}
