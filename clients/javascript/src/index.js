// Live replicated objects of Diwan.

export { Cluster } from './cluster.js'
export { Held, NotAcquired } from './held.js'
export { DiwanObject } from './object.js'
export { Problem } from './problem.js'
export * from './types.js'
