import { type Command } from 'commander';
import { fewAtOnce } from '#libs/database';
import { type Decider, type DomainEvent, type EventStore } from '#libs/event-store';
import { name } from './name.js';
import { withSession } from './session.js';

export function organizationCommands(program: Command): void {
  const organizations = program.command('organization').description('create and list organizations');
  organizations
    .command('create')
    .description('create an organization and its first API key, which has all scopes')
    .requiredOption('--name <name>', 'its name, up to 200 characters', name)
    .addHelpText(
      'after',
      '\nPrints { "organizationId", "apiKeyId", "key" }. "apiKey" is the same key, under its name in versions before 0.3.0. ' +
        'The key is only shown once. Store it.',
    )
    .action(({ name }: { name: string }) =>
      withSession(
        program,
        async ({ run, input }) => {
          const { v7: uuidv7 } = await import('uuid');
          const { CreateOrganization } = await import('../organizations/index.js');
          const created = await run<{ key: string }>(input(CreateOrganization, uuidv7(), { name }));
          return { ...created, apiKey: created.key };
        },
        { creates: true },
      ),
    );
  organizations
    .command('list')
    .description('list all organizations')
    .addHelpText('after', '\nPrints [{ "organizationId", "name", "publicLog" }].')
    .action(() => withSession(program, ({ runtime }) => listOrganizations(runtime.store)));
}

type Listed = { organizationId: string; name: string; publicLog: boolean };

async function listOrganizations(store: EventStore): Promise<Listed[]> {
  const { fold } = await import('#libs/event-store');
  const { organization, publicLog, publicLogId, existingOrganization } =
    await import('../organizations/index.js');
  const created = await store.readAll(0, await store.horizon(), MAX_ORGANIZATIONS, ['OrganizationCreated']);
  return fewAtOnce(created, async ({ organizationId }) => {
    const read = async <State, Event extends DomainEvent>(decider: Decider<State, Event>, id: string) =>
      fold(decider, await store.readStream<Event>(organizationId, id)).state;
    const { name } = existingOrganization(await read(organization, organizationId));
    const { isPublic } = await read(publicLog, publicLogId(organizationId));
    return { organizationId, name, publicLog: isPublic };
  });
}

const MAX_ORGANIZATIONS = 10_000;
