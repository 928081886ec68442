// What types of live objects in JavaScript and TypeScript are written against.

declare module 'diwan' {
  /** What JSON tells. An integer beyond 2^53 is a bigint. */
  export type Json = null | boolean | number | bigint | string | Json[] | { [name: string]: Json | undefined }

  /** The call is refused: the caller gets the code and the text, and the object is as before. */
  export class Refused extends Error {
    constructor(detail?: string, code?: string)
    readonly code: string
  }

  /** A call that waits, which the object ends in a later command. */
  export class Ticket {
    constructor(id: number)
    readonly id: number
    /** Ends the call with a result. False: nobody waits under this ticket any more. */
    wake(result?: unknown): boolean
    /** Refuses the call. False: nobody waits under this ticket any more. */
    refuse(why: Refused): boolean
  }

  /** The call of this method waits, at most that long; without a limit the caller's own one rules. */
  export function park(options?: { tag?: number; waitMs?: number }): Ticket

  export interface Caller {
    /** 32 hexadecimal digits, if there is a session. */
    session: string | null
    principal: string | null
    request: string | null
  }
  export function caller(): Caller

  /** The time of the command; a query sees that of the last command. `Date.now()` is the same. */
  export function nowMs(): number
  /** The number of the command in the order of all commands of its group. */
  export function position(): number
  /** Random bytes, the same at every member and not secret. `Math.random()` is made of them. */
  export function randomBytes(length: number): Uint8Array
  /** Has `timer(id)` called after that time, in the place of an earlier timer of that id. */
  export function setTimer(id: number, afterMs: number): void
  export function clearTimer(id: number): void
  /** Tells something to those who listen to the object, if the call succeeds. */
  export function emit(topic: string, body?: unknown): void
  /** Has a method of another object, `TYPE/NAME`, called later, once, if the call succeeds. Nobody hears of the result. */
  export function send(target: string, method: string, args?: { [name: string]: unknown }): void
  /** Writes a line to the member's log. `console.log` does, too. */
  export function log(line: string): void

  /** What an argument is; with `?` it may be left out. */
  type Kind = 'any' | 'array' | 'boolean' | 'integer' | 'number' | 'object' | 'string'
  export type Arguments = { [name: string]: Kind | `${Kind}?` }
  export interface Method {
    kind: 'command' | 'query' | 'blocking'
    args?: Arguments
  }
  /** A method that may change the object. Without `args` its arguments are not checked. */
  export function command(args?: Arguments): Method
  /** A method that only reads. What it changes is thrown away. */
  export function query(args?: Arguments): Method
  /** A command that may wait: it returns what `park` gave. */
  export function blocking(args?: Arguments): Method
}
