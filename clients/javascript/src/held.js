// What a caller holds: a lock, permits, a leadership. It knows by its own clock when it may have lost it.

/** The time to wait has passed, and nothing was acquired. */
export class NotAcquired extends Error {
  name = 'NotAcquired'
}

/** A grant. Its `fence` goes along with every write to what it protects. */
export class Held {
  #abort = new AbortController()
  #session
  #giveBack

  constructor(session, of, name, fence, giveBack) {
    this.#session = session
    this.#giveBack = giveBack
    this.of = of
    this.name = name
    this.fence = fence
    session.held.add(this)
  }

  /** Whether somebody else may hold it by now. It never becomes false again. */
  get lost() {
    if (this.#session.ended || this.#session.isLate()) this.lose('no renewal was answered in time')
    return this.#abort.signal.aborted
  }

  /** Aborted once it is lost. */
  get signal() {
    return this.#abort.signal
  }

  lose(why) {
    this.#session.held.delete(this)
    if (!this.#abort.signal.aborted) this.#abort.abort(new Error(`${this.of} ${this.name} is lost: ${why}`))
  }

  /** Gives it back. What is lost has nothing to give back. */
  async release() {
    this.#session.held.delete(this)
    const gone = ['not-owner', 'not-held', 'stale-fence', 'session-expired', 'object-deleted']
    await this.#giveBack().catch((error) => {
      if (!gone.includes(error.slug)) throw error
    })
  }
}
