import { type Command } from 'commander';
import { v7 as uuidv7 } from 'uuid';
import { CreateOrganization } from '../organizations/index.js';
import { name } from './name.js';
import { input, withSession } from './session.js';

export function organizationCommands(program: Command): void {
  const organizations = program.command('organization').description('create organizations');
  organizations
    .command('create')
    .description('create an organization with its first API key, which may do everything')
    .requiredOption('--name <name>', 'its name, up to 200 characters', name)
    .addHelpText('after', '\nPrints { "organizationId", "apiKey" }. The key is shown this once: keep it.')
    .action(({ name }: { name: string }) =>
      withSession(program, ({ run }) => run(input(CreateOrganization, uuidv7(), { name }))),
    );
}
