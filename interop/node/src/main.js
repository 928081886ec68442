// Runs every test of the suite, or those whose name contains one of the arguments.

import acl from './acl.js';
import deaths from './deaths.js';
import { TOLL, run } from './harness.js';
import { hold } from './held.js';
import nodes from './nodes.js';
import outage from './outage.js';
import recipes from './recipes.js';
import sessions from './sessions.js';
import transactions from './transactions.js';
import watches from './watches.js';

if (process.argv[2] === 'held') {
    await hold(process.argv[3]);
} else {
    const groups = { nodes, transactions, acl, watches, recipes, sessions, outage };
    if (TOLL) Object.assign(groups, { deaths });
    process.exit(await run(groups, process.argv.slice(2)));
}
