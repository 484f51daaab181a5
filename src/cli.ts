#!/usr/bin/env node
import { Command } from 'commander';
import { basename } from 'node:path';
import {
  apiKeyCommands,
  contactsCommands,
  doctorCommand,
  erasuresCommands,
  historyCommands,
  keysCommands,
  organizationCommands,
  projectionCommands,
  witnessCommand,
  withSession,
} from './cli/index.js';

/** As it was called: in the container image it is a program, `advocacy`. */
const called = basename(process.argv[1]!) === 'advocacy' ? 'advocacy' : 'npm run -s cli --';

const program = new Command(called)
  .description('The operator’s command line. It works while servers run, on the same database as they.')
  .option('--json', 'print the result as one line of JSON, for machines')
  .addHelpText(
    'after',
    `
Every command takes the same environment variables as the server (see .env.example): without DATABASE_URL it
works on the embedded PostgreSQL under DATA_DIR. Results go to standard output, everything else to standard error.

A first organization with its key, and a second key that may only read contacts:
  $ ${called} organization create --name "Clean Rivers"
  $ ${called} api-key create --organization <organizationId> --name Website --scopes contact:read`,
  )
  .showHelpAfterError('(--help shows how)');

organizationCommands(program);
apiKeyCommands(program);
contactsCommands(program);
historyCommands(program);
keysCommands(program);
projectionCommands(program);
erasuresCommands(program);
doctorCommand(program);
witnessCommand(program);

program
  .command('migrate')
  .description('bring the database up to date; servers do the same when they start')
  .addHelpText('after', '\nPrints { "migrated": true } when the database is up to date.')
  .action(() => withSession(program, () => Promise.resolve({ migrated: true })));

await program.parseAsync();
