// What types of live objects are written against.

const host = globalThis.__diwan
delete globalThis.__diwan

/** The call is refused: the caller gets the code and the text, and the object is as before. */
export class Refused extends Error {
  constructor(detail = '', code = 'refused') {
    super(String(detail))
    this.name = 'Refused'
    this.code = String(code)
  }
}

/**
 * A call that waits. The object keeps it, and ends it in a later command; if the call ends otherwise (its time, its caller), the method
 * `ticketEnded(ticket)` is told its id.
 */
export class Ticket {
  constructor(id) {
    this.id = id
  }

  /** Ends the call with a result. False: nobody waits under this ticket any more. */
  wake(result = null) {
    return host.wake(this.id, result)
  }

  /** Refuses the call with a `Refused`. False: nobody waits under this ticket any more. */
  refuse(why) {
    return host.refuse(this.id, why.code, why.message)
  }
}

/** The call of this method waits, at most that long; without a limit the caller's own one rules. */
export function park({ tag = 0, waitMs } = {}) {
  return new Ticket(host.park(tag, waitMs === undefined ? -1 : Math.max(waitMs, 0)))
}

export const caller = () => host.caller()
export const clearTimer = (id) => host.clearTimer(id)
export const emit = (topic, body = null) => host.emit(topic, body)
export const log = (line) => host.log(String(line))
export const nowMs = () => host.nowMs()
export const position = () => host.position()
/** Has a method of another object, `TYPE/NAME`, called later, once, if the call succeeds. Nobody hears of the result. */
export const send = (target, method, args = {}) => host.send(target, method, args)
export const setTimer = (id, afterMs) => host.setTimer(id, afterMs)

/** Random bytes. They are not secret: every member computes the same. */
export const randomBytes = (length) => Uint8Array.from(host.randomBytes(length))

const kind = (name) => (args) => ({ kind: name, args })

/** A method that may change the object. `args` names its arguments: `{ by: 'integer?' }`, where `?` may be left out. */
export const command = kind('command')

/** A method that only reads. What it changes is thrown away. */
export const query = kind('query')

/** A command that may wait: it returns what `park` gave. */
export const blocking = kind('blocking')

globalThis.console = Object.freeze({ log, info: log, warn: log, error: log, debug: log })
Math.random = () => {
  const bytes = host.randomBytes(7)
  return bytes.reduce((sum, byte, place) => sum + (place < 6 ? byte : byte & 31) * 256 ** place, 0) / 2 ** 53
}

// What the runner calls. Nothing below is the author's business.

const IS = {
  any: () => true,
  array: Array.isArray,
  boolean: (value) => typeof value === 'boolean',
  integer: (value) => Number.isSafeInteger(value) || typeof value === 'bigint',
  number: (value) => typeof value === 'number' || typeof value === 'bigint',
  object: (value) => typeof value === 'object' && !Array.isArray(value),
  string: (value) => typeof value === 'string',
}
const NOT_ARGUMENTS = ['ttl_ms', 'wait_ms']
const EVENTS = { timer: 'timer', ticket_ended: 'ticketEnded', session_expired: 'sessionExpired' }

let loaded
let instance

/** What is known of arguments, so that wrong ones are refused before a method runs. */
class Signature {
  constructor(where, declared) {
    this.fields = declared === undefined ? null : new Map()
    this.isAsking = false
    for (const [name, told] of Object.entries(declared ?? {})) {
      const isOptional = String(told).endsWith('?')
      const type = isOptional ? told.slice(0, -1) : told
      if (!Object.hasOwn(IS, type)) {
        throw new Refused(`${where}: \`${name}\` has the type \`${told}\`; there are ${Object.keys(IS).join(', ')}`, 'bad-source')
      }
      this.fields.set(name, { type, isOptional })
      this.isAsking ||= !isOptional
    }
  }

  /** Of a call without any. */
  none() {
    return this.isAsking ? this.checked({}) : {}
  }

  checked(args) {
    for (const name of NOT_ARGUMENTS) if (!this.fields?.has(name)) delete args[name]
    for (const [name, { isOptional }] of this.fields ?? []) {
      if (!isOptional && args[name] === undefined) throw new Refused(`\`${name}\`: is missing`, 'bad-argument')
    }
    for (const [name, value] of Object.entries(this.fields ? args : {})) {
      const field = this.fields.get(name)
      if (!field) throw new Refused(`\`${name}\`: the method has no such argument`, 'bad-argument')
      if (value === null && field.isOptional) delete args[name]
      else if (value === null ? field.type !== 'any' : !IS[field.type](value)) {
        throw new Refused(`\`${name}\`: is no ${field.type}`, 'bad-argument')
      }
    }
    return args
  }

  schema() {
    if (!this.fields) return { type: 'object' }
    const properties = {}
    const required = []
    for (const [name, { type, isOptional }] of this.fields) {
      properties[name] = type === 'any' ? {} : { type }
      if (!isOptional) required.push(name)
    }
    return { type: 'object', properties, ...(required.length && { required }) }
  }
}

const isType = (value) => typeof value === 'function' && Object.hasOwn(value, 'methods') && typeof value.methods === 'object'

export function _load(namespace) {
  const types = Object.values(namespace).filter(isType)
  const marked = isType(namespace.default) ? [namespace.default] : [...new Set(types)]
  if (marked.length !== 1) {
    const found = marked.map((type) => type.name).join(', ') || 'none'
    throw new Refused(`the file must export one class with \`static methods\`; found: ${found}`, 'bad-source')
  }
  const [type] = marked
  const methods = new Map()
  for (const [name, told] of Object.entries(type.methods)) {
    if (!['command', 'query', 'blocking'].includes(told?.kind) || typeof type.prototype[name] !== 'function') {
      throw new Refused(`\`${name}\` is no method, or neither command(..), query(..) nor blocking(..)`, 'bad-source')
    }
    methods.set(name, { kind: told.kind, signature: new Signature(name, told.args) })
  }
  loaded = { type, methods, constructed: new Signature('constructor', type.args) }
}

export function _describe() {
  const { type, methods, constructed } = loaded
  const told = {}
  for (const [name, { kind, signature }] of methods) told[name] = { kind, args: signature.schema() }
  return {
    name: type.name.toLowerCase(),
    codec: 'json',
    constructor: { args: constructed.schema() },
    methods: told,
    session_expired: own('sessionExpired') !== undefined,
  }
}

/** A method of the author's that the cluster calls: not one that callers may call. */
function own(name) {
  const method = loaded.type.prototype[name]
  return typeof method === 'function' && !loaded.methods.has(name) ? method : undefined
}

export function _create(args) {
  instance = new loaded.type(loaded.constructed.checked(args))
}

export function _call(name, args) {
  const method = loaded.methods.get(name)
  if (!method) throw new Refused(`the type has no method \`${name}\``, 'no-such-method')
  return instance[name](args ? method.signature.checked(args) : method.signature.none())
}

export function _event(name, argument) {
  return own(EVENTS[name])?.call(instance, argument)
}

export function _save() {
  const save = own('save')
  return save ? save.call(instance) : { ...instance }
}

export function _migrate(description, state) {
  const { type } = loaded
  instance = type.migrate ? type.migrate(description, state) : Object.assign(new type({}), state)
  if (!(instance instanceof type)) throw new TypeError('`static migrate` must return the object')
}
