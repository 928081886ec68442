import { main } from './harness.js'
import './leader.js'
import './methods.js'
import './tls.js'
import './tokens.js'
import './waits.js'

await main(process.argv.slice(2))
