import { type INestApplicationContext } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { v7 as uuidv7 } from 'uuid';
import { exclusively } from '#libs/database';
import { systemInput } from '#libs/rpc';
import { CreateOrganization } from './organizations/index.js';
import { type Runtime } from './runtime.js';

/** Makes the first organization of an empty embedded database, so that a newcomer has a key to try. */
export async function createDemo(
  app: INestApplicationContext,
  { source }: Runtime,
): Promise<{ organizationId: string; apiKey: string } | undefined> {
  // Under the lock: of two servers that start on one directory, one makes it.
  return exclusively(source, async () => {
    const [log] = await source.query<{ used: boolean }[]>('SELECT EXISTS (SELECT FROM events) AS used');
    if (log!.used) return undefined;
    const organizationId = uuidv7();
    const fields = { name: 'Demo organization' };
    const command = systemInput(CreateOrganization, organizationId, fields, 'first-start');
    return app.get(CommandBus).execute(command);
  });
}

/** What the terminal shows once. The key appears here and nowhere else. */
export function welcome(origin: string, demo: { organizationId: string; apiKey: string }): string {
  const body = JSON.stringify({
    organizationId: demo.organizationId,
    email: 'ada@example.org',
    firstName: 'Ada',
  });
  return `
  A demo organization was made. Its key is shown this once:

    organization  ${demo.organizationId}
    API key       ${demo.apiKey}

  The documentation is at ${origin}/docs. Try it:

curl -X POST ${origin}/v1/contact.create-contact -H 'Authorization: Bearer ${demo.apiKey}' -H 'Content-Type: application/json' -d '${body}'

`;
}
