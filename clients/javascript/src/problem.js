// What a call ends with that has no result.

/** A refusal, or an answer that did not come. */
export class Problem extends Error {
  constructor(slug, detail = '', told = {}) {
    super(detail ? `${slug}: ${detail}` : slug)
    this.name = 'Problem'
    this.slug = slug
    this.detail = detail
    this.status = told.status ?? 0
    this.effect = told.effect ?? 'none'
    this.retry = told.retry ?? 'no'
    this.retryAfterMs = told.retry_after_ms
    this.pointer = told.pointer
    this.position = told.position
    this.result = told.result
  }
}

/** The problem that a response tells of. */
export function problemOf(status, body) {
  try {
    const told = JSON.parse(body)
    if (told.type.startsWith('urn:diwan:problem:')) {
      return new Problem(told.type.slice(told.type.lastIndexOf(':') + 1), told.detail, { ...told, status })
    }
  } catch {
    // Not one of ours: a proxy in between, or another server. It says nothing about an effect.
  }
  return new Problem('bad-response', `status ${status}`, { status, effect: 'unknown', retry: 'same-key' })
}
