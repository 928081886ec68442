// Holds a lock until it is lost, in a process of its own.

import { Cluster, Lock } from '../../../clients/javascript/src/index.js'

const [servers, name] = process.argv.slice(2)
const held = await new Lock(new Cluster(servers, { ttlMs: 2_000 }), name).hold()
console.log(held.fence)
held.signal.addEventListener('abort', () => {
  console.log(`lost ${held.lost}`)
  process.exit(0)
})
setInterval(() => {}, 1_000)
