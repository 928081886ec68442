// A type of live objects. Upload it with the JavaScript runner, create an object, and call it:
//
//   diwan object put TYPE_NAME.js --name TYPE_NAME --runner diwan_javascript_runner.wasm
//   diwan object create TYPE_NAME/first
//   diwan object call TYPE_NAME/first hit '{"by":2}'

import { Refused, command, query } from 'diwan'

export class Hits {
  static args = { start: 'integer?' }
  static methods = { hit: command({ by: 'integer?' }), get: query({}) }

  constructor({ start = 0 }) {
    this.count = start
  }

  hit({ by = 1 }) {
    if (by < 0) throw new Refused('hits are not taken back', 'negative')
    this.count += by
    return this.get()
  }

  get() {
    return { count: this.count }
  }
}
