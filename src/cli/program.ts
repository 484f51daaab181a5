import { Command } from 'commander';
import { apiKeyCommands } from './api-key.js';
import { broadcastCommands } from './broadcast.js';
import { contactsCommands } from './contacts.js';
import { doctorCommand } from './doctor.js';
import { erasuresCommands } from './erasures.js';
import { historyCommands } from './history.js';
import { keysCommands } from './keys.js';
import { listenCommand } from './listen.js';
import { organizationCommands } from './organization.js';
import { projectionCommands } from './projections.js';
import { withSession } from './session.js';
import { subscriptionsCommands } from './subscriptions.js';
import { userCommands } from './user.js';
import { webhookCommands } from './webhook.js';
import { witnessCommand } from './witness.js';

/** @param called the program's name in help texts. */
export function commandLine(called: string): Command {
  const program = new Command(called)
    .description(
      'The command line for operators. It works on the same database as the servers, while they run.',
    )
    .option('--json', 'print the result as one line of JSON')
    .addHelpText(
      'after',
      `
Commands read the same environment variables as the server (see .env.example). Without DATABASE_URL, they use the
embedded PostgreSQL in DATA_DIR. Results go to standard output, everything else to standard error.

Create an organization with its first API key, and a second key that can only read contacts:
  $ ${called} organization create --name "Clean Rivers"
  $ ${called} api-key create --organization <organizationId> --name Website --scopes contact:read`,
    )
    .showHelpAfterError('(run with --help for usage)');

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
  listenCommand(program);
  erasuresCommands(program);
  doctorCommand(program);
  witnessCommand(program);

  program
    .command('migrate')
    .description('run pending migrations; servers do the same when they start')
    .option('--force', 'migrate even while instances of an incompatible version run')
    .addHelpText('after', '\nPrints { "migrated": true } when the database is up to date.')
    .action((options: { force?: true }) =>
      withSession(program, () => Promise.resolve({ migrated: true }), { ...options, creates: true }),
    );
  return program;
}
