// Live replicated objects of Diwan.

/** 64 bits: a bigint where a number is not exact. */
export type Integer = number | bigint
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json }

export interface ClusterOptions {
  /** After how long what a dead client held is free: 10,000. */
  ttlMs?: number
  /** For how long a call is tried again while no member answers: 30,000. */
  timeoutMs?: number
  /** The session's name, for people. */
  name?: string
  /** Says who asks, with every request. Without it and `tokenFile`: the environment's `DIWAN_TOKEN`, or the file that
   * `DIWAN_TOKEN_FILE` names, or nobody in particular. */
  token?: string
  /** A file with the token: read again when the token is refused, so it may be replaced meanwhile. */
  tokenFile?: string
  /** Encrypts all connections; so do addresses that begin with `https://`. What is given is kept for the heartbeat's thread:
   * text and bytes, no functions. */
  tls?: boolean | TlsOptions
}

/** As `tls.connect` of Node takes them: PEM. Without `ca` the system's authorities vouch for members. */
export interface TlsOptions {
  ca?: string | Uint8Array | (string | Uint8Array)[]
  /** The certificate that this client shows, and its key. */
  cert?: string | Uint8Array
  key?: string | Uint8Array
  passphrase?: string
  servername?: string
}

/** The members of a cluster, and one session with it. */
export class Cluster {
  constructor(members?: string | string[], options?: ClusterOptions)
  /** An object of any type. */
  object(type: string, name: string): DiwanObject
  /** The objects of a type. */
  list(type: string, options?: { prefix?: string; after?: string; limit?: number }): Promise<{ objects: Description[]; next: string | null }>
  /** Closes the session: what it holds is free at once. */
  close(): Promise<void>
}

export interface Description {
  type: string
  name: string
  incarnation: number
  explicit: boolean
  waiting: number
  position: number
}

/** An object of any type. */
export class DiwanObject {
  readonly type: string
  readonly name: string
  constructor(cluster: Cluster, type: string, name: string)
  call(method: string, args?: object, options?: { waitMs?: number; signal?: AbortSignal }): Promise<any>
  /** Creates the object, with arguments named as on the wire. Whether it is new. */
  create(args?: object): Promise<boolean>
  describe(): Promise<Description>
  delete(incarnation?: number): Promise<void>
  /** Makes up to 100 calls one behind the other. A result or a `Problem` for each. */
  batch(calls: [method: string, args?: object][]): Promise<any[]>
}

/** A grant. Its `fence` goes along with every write to what it protects. */
export class Held {
  readonly of: string
  readonly name: string
  readonly fence: number
  /** Whether somebody else may hold it by now. It never becomes false again. */
  readonly lost: boolean
  /** Aborted once it is lost. */
  readonly signal: AbortSignal
  /** Gives it back. What is lost has nothing to give back. */
  release(): Promise<void>
}

/** The time to wait has passed, and nothing was acquired. */
export class NotAcquired extends Error {}

/** A refusal, or an answer that did not come. */
export class Problem extends Error {
  readonly slug: string
  readonly detail: string
  readonly status: number
  readonly effect: 'none' | 'unknown'
  readonly retry: 'now' | 'later' | 'same-key' | 'no'
  readonly retryAfterMs?: number
  readonly pointer?: string
  readonly position?: number
  readonly result?: any
}

export * from './types.js'
