import { type Command } from 'commander';
import { type EventStore } from '#libs/event-store';
import { interruptible, UsageError, withSession } from './session.js';

type Options = { forwardTo: string; organization?: string; types?: string; fromPosition?: string };

export function listenCommand(program: Command): void {
  program
    .command('listen')
    .description('send events to your machine while you develop a receiver of webhooks')
    .requiredOption('--forward-to <url>', 'the address of your receiver, such as http://localhost:4000/hook')
    .option('--organization <id>', 'the organization (default: the only one)')
    .option('--types <types>', 'event types with commas between them (default: all)')
    .option(
      '--from-position <number>',
      'events after this position; 0 for the whole history (default: from now)',
    )
    .addHelpText(
      'after',
      `
Sends each event as a signed webhook would, until you press Ctrl-C. The address may be private and use http. Prints the secret of the
signatures on standard error; it stays the same. Prints a line { "position", "type", "delivered", "statusCode", "ms", "reason" } for each
event. Failed events are not sent again: use --from-position.`,
    )
    .action((options: Options) =>
      withSession(program, async ({ runtime: { store }, requireOrganization }) => {
        const { forwardEvents, forwardingSecret } = await import('../webhooks/index.js');
        const { forwardTo } = options;
        if (!/^https?:\/\//.test(forwardTo) || !URL.canParse(forwardTo))
          throw new UsageError('--forward-to must be a URL, such as http://localhost:4000/hook.');
        const range = { after: positionIn(options.fromPosition), types: await typesIn(options.types) };
        const organization = options.organization ?? (await onlyOrganization(store));
        await requireOrganization(organization);
        const signal = interruptible();
        process.stderr.write(`Secret: ${forwardingSecret(store, organization)}\n`);
        for await (const sent of forwardEvents(store, organization, forwardTo, range, signal))
          process.stdout.write(`${JSON.stringify(sent)}\n`);
      }),
    );
}

/** @throws UsageError unless it is a position. */
export function positionIn(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const position = /^\d{1,16}$/.test(text) ? Number(text) : NaN;
  if (!Number.isSafeInteger(position))
    throw new UsageError('--from-position must be a whole number, 0 or more.');
  return position;
}

/** @throws UsageError if a type does not exist. */
async function typesIn(text: string | undefined): Promise<string[] | undefined> {
  if (text === undefined) return undefined;
  const { allEventTypes } = await import('#libs/modules');
  const known = allEventTypes().map(({ type }) => type);
  const types = text.split(',').map((type) => type.trim());
  const unknown = types.find((type) => !known.includes(type));
  if (unknown !== undefined)
    throw new UsageError(`${unknown} is not an event type: see docs/reference/event-types.md.`);
  return types;
}

async function onlyOrganization(store: EventStore): Promise<string> {
  const created = await store.readAll(0, await store.horizon(), 2, ['OrganizationCreated']);
  const [only] = created;
  if (created.length !== 1)
    throw new UsageError('Name the organization with --organization: "organization list" shows their ids.');
  return only!.organizationId;
}
