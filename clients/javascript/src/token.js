// Who asks: a token, or a file with one that may be replaced while it is used.

import { readFileSync } from 'node:fs'

const FORM = /^diwan_[0-9a-f]{64}$/
const FILE_CHARACTERS_MAX = 4_096

const read = (file) => readFileSync(file, 'latin1').slice(0, FILE_CHARACTERS_MAX).trim()

/** Where the token comes from: by name, a file, or `DIWAN_TOKEN`, or the file that `DIWAN_TOKEN_FILE` names. */
export function tokenSource({ token, tokenFile } = {}) {
  if (token != null && tokenFile != null) throw new TypeError('a token or a file with one, not both')
  if (token != null || tokenFile != null) return { token, tokenFile }
  const { DIWAN_TOKEN, DIWAN_TOKEN_FILE } = process.env
  return DIWAN_TOKEN?.trim() ? { token: DIWAN_TOKEN.trim() } : { tokenFile: DIWAN_TOKEN_FILE || undefined }
}

export class Credentials {
  #file
  token

  constructor({ token, tokenFile } = {}) {
    this.#file = tokenFile
    this.token = tokenFile == null ? token : read(tokenFile)
    if (this.token != null && !FORM.test(this.token)) {
      throw new TypeError('a token is `diwan_` and 64 hexadecimal digits: `diwan object token create` makes one')
    }
  }

  /** Whether the file has another token by now than the one that was refused. What it has is used from then on. */
  replaced(refused) {
    if (this.#file == null) return false
    try {
      const token = read(this.#file)
      if (FORM.test(token)) this.token = token
    } catch {
      return false
    }
    // Another request may have found it already.
    return this.token !== refused
  }
}
