// Runs every test of the suite, or those whose name contains one of the arguments.

import admin from './admin.js';
import deaths from './deaths.js';
import groups from './groups.js';
import { run } from './harness.js';
import records from './records.js';
import transactions from './transactions.js';

process.exit(await run({ deaths, records, groups, transactions, admin }, process.argv.slice(2)));
