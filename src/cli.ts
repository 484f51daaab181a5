import { Command } from 'commander';
import {
  apiKeyCommands,
  contactsCommands,
  historyCommands,
  organizationCommands,
  projectionCommands,
  withSession,
} from './cli/index.js';

const program = new Command('npm run -s cli --')
  .description('The operator’s command line. It works while servers run, on the same database as they.')
  .option('--json', 'print the result as one line of JSON, for machines')
  .addHelpText(
    'after',
    `
Every command takes the same environment variables as the server (see .env.example): without DATABASE_URL it
works on the embedded PostgreSQL under DATA_DIR. Results go to standard output, everything else to standard error.

A first organization with its key, and a second key that may only read contacts:
  $ npm run -s cli -- organization create --name "Clean Rivers"
  $ npm run -s cli -- api-key create --organization <organizationId> --name Website --scopes contact:read`,
  )
  .showHelpAfterError('(--help shows how)');

organizationCommands(program);
apiKeyCommands(program);
contactsCommands(program);
historyCommands(program);
projectionCommands(program);

program
  .command('migrate')
  .description('bring the database up to date; servers do the same when they start')
  .addHelpText('after', '\nPrints { "migrated": true } when the database is up to date.')
  .action(() => withSession(program, () => Promise.resolve({ migrated: true })));

await program.parseAsync();
