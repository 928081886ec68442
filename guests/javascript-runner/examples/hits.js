// Counts hits, and refuses to count further than 64 bits reach. The same as ../../rust/examples/hits.rs.

import { Refused, command, query } from 'diwan'

const MOST = 2n ** 63n - 1n

export class Hits {
  static args = { start: 'integer?' }
  static methods = { hit: command({ by: 'integer?' }), get: query({}) }

  constructor({ start = 0 }) {
    this.count = BigInt(start)
  }

  hit({ by = 1 }) {
    const count = this.count + BigInt(by)
    if (count > MOST) throw new Refused('more hits than can be counted', 'overflow')
    this.count = count
    return this.get()
  }

  get() {
    return { count: this.count }
  }

  static migrate(description, { count }) {
    return new Hits({ start: count })
  }
}
