import { Command } from 'commander';
import { apiKeyCommands } from './api-key.js';
import { broadcastCommands } from './broadcast.js';
import { contactsCommands } from './contacts.js';
import { doctorCommand } from './doctor.js';
import { erasuresCommands } from './erasures.js';
import { historyCommands } from './history.js';
import { keysCommands } from './keys.js';
import { organizationCommands } from './organization.js';
import { projectionCommands } from './projections.js';
import { withSession } from './session.js';
import { subscriptionsCommands } from './subscriptions.js';
import { userCommands } from './user.js';
import { webhookCommands } from './webhook.js';
import { witnessCommand } from './witness.js';

/** @param called what helps name the program by. */
export function commandLine(called: string): Command {
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
  broadcastCommands(program);
  historyCommands(program);
  keysCommands(program);
  projectionCommands(program);
  subscriptionsCommands(program);
  userCommands(program);
  webhookCommands(program);
  erasuresCommands(program);
  doctorCommand(program);
  witnessCommand(program);

  program
    .command('migrate')
    .description('bring the database up to date; servers do the same when they start')
    .option('--force', 'also while instances of an incompatible version serve')
    .addHelpText('after', '\nPrints { "migrated": true } when the database is up to date.')
    .action((options: { force?: true }) =>
      withSession(program, () => Promise.resolve({ migrated: true }), options),
    );
  return program;
}
