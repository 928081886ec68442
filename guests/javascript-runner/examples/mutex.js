// A lock that callers wait for, in the order in which they came. It is its holder's session's: when that ends, the next one has it.
// The same as ../../rust/examples/mutex.rs.

import { Refused, blocking, caller, command, park, position, query } from 'diwan'

export class Mutex {
  static methods = { acquire: blocking({}), release: command({ fence: 'integer' }), state: query({}) }

  holder = null
  waiting = []

  acquire() {
    const { session } = caller()
    if (session === null) throw new Refused('a lock is a session\'s', 'no-session')
    if (this.holder === null) return this.#grant(session)
    const ticket = park()
    this.waiting.push({ ticket, session })
    return ticket
  }

  release({ fence }) {
    if (this.holder?.fence !== fence) throw new Refused(`the lock is not held under ${fence}`, 'not-owner')
    this.#handOn()
  }

  state() {
    return { holder: this.holder, waiting: this.waiting.length }
  }

  ticketEnded(id) {
    this.waiting = this.waiting.filter(({ ticket }) => ticket.id !== id)
  }

  sessionExpired(session) {
    this.waiting = this.waiting.filter((waiter) => waiter.session !== session)
    if (this.holder?.session === session) this.#handOn()
  }

  // The position rises with every command, so no two grants have the same.
  #grant(session) {
    this.holder = { fence: position(), session }
    return this.holder
  }

  #handOn() {
    this.holder = null
    while (this.waiting.length > 0) {
      const { ticket, session } = this.waiting.shift()
      if (ticket.wake(this.#grant(session))) return
      this.holder = null
    }
  }
}
