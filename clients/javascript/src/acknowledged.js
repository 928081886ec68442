// Which requests of a session have been answered: all up to a floor, and ranges above it, as the server is told of them.

export class Acknowledged {
  #floor = 0
  // First and last number of each, in order and apart. There are no more of them than requests without an answer.
  #above = []

  /** That request is answered. */
  add(number) {
    const above = this.#above
    let at = above.length
    while (at > 0 && above[at - 1][0] > number) at--
    if (number <= this.#floor || above[at - 1]?.[1] >= number) return
    above.splice(at, 0, [number, number])
    if (above[at + 1]?.[0] === number + 1) above[at][1] = above.splice(at + 1, 1)[0][1]
    if (above[at - 1]?.[1] === number - 1) above[at - 1][1] = above.splice(at, 1)[0][1]
    if (above[0][0] === this.#floor + 1) this.#floor = above.shift()[1]
  }

  /** How many of the requests up to that one are not answered. */
  unanswered(last) {
    return this.#above.reduce((left, [first, end]) => left - (end - first + 1), last - this.#floor)
  }

  toString() {
    return [this.#floor, ...this.#above.map(([first, end]) => (end > first ? `${first}-${end}` : first))].join(', ')
  }
}
