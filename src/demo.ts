import { type INestApplicationContext, type LoggerService } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { type DataSource } from 'typeorm';
import { createReadStream } from 'node:fs';
import { createRequire } from 'node:module';
import { newId } from '#libs/random';
import { exclusively } from '#libs/database';
import { type Input, type InputClass, systemInput } from '#libs/rpc';
import { CreateBroadcast, SendBroadcast } from './broadcasts/index.js';
import { CreateContact } from './contacts/index.js';
import { UploadImage } from './images/index.js';
import { AddContacts, CreateList } from './lists/index.js';
import { CreateOrganization, UpdateOrganization } from './organizations/index.js';
import { AddSignature, CreatePetition, PublishPetition } from './petitions/index.js';
import { CreatePost, PublishPost } from './posts/index.js';
import { CreateTag, TagContacts } from './tags/index.js';
import { type Runtime } from './runtime.js';

const SIGNERS = [
  { firstName: 'Ada', lastName: 'Lovelace', city: 'London' },
  { firstName: 'Chico', lastName: 'Mendes', city: 'Xapuri' },
  { firstName: 'Rachel', lastName: 'Carson', city: 'Springdale' },
  { firstName: 'Wangari', lastName: 'Maathai', city: 'Nairobi' },
];

/** What the first start made. */
type Demo = { organizationId: string; key: string; petitionId: string };

/**
 * Makes the first organization of an empty embedded database, with something to look at and a key to try,
 * through the commands that everybody uses.
 */
export async function createDemo(
  app: INestApplicationContext,
  { source }: Runtime,
): Promise<Demo | undefined> {
  if (await isUsed(source)) return undefined;
  // Under the lock: of two servers that start on one directory, one makes it.
  return exclusively(source, async () =>
    (await isUsed(source)) ? undefined : fillDemo(app.get(CommandBus)),
  );
}

/** Whether there is an organization: its creation is the first event of every history. */
async function isUsed(source: DataSource): Promise<boolean> {
  const [log] = await source.query<{ used: boolean }[]>('SELECT EXISTS (SELECT FROM events) AS used');
  return log!.used;
}

/**
 * Tells in one log line how to make the first organization, as long as there is none: without it nobody has a key. In
 * containers the log is what a newcomer looks at.
 */
export async function tellHowToBegin({ source }: Runtime, logger: LoggerService): Promise<void> {
  // A database that just went away is told of elsewhere.
  if (await isUsed(source).catch(() => true)) return;
  const create = 'organization create --name Rivers';
  logger.log({
    message: 'no organization yet: one command makes it and prints its first key',
    inCompose: `docker compose exec api advocacy ${create}`,
    inContainer: `advocacy ${create}`,
    inCheckout: `npm run -s cli -- ${create}`,
  });
}

async function fillDemo(bus: CommandBus): Promise<Demo> {
  const organizationId = newId();
  const run = <T extends Input, Answer>(type: InputClass<T>, fields: Partial<T>): Promise<Answer> =>
    bus.execute(systemInput(type, organizationId, fields, 'first-start'));

  const { key } = await run<CreateOrganization, { key: string }>(CreateOrganization, {
    name: 'Demo organization',
  });
  const contactIds: string[] = [];
  for (const person of SIGNERS) {
    const email = `${person.firstName.toLowerCase()}@example.org`;
    const fields = { ...person, email, onConflict: 'fail' as const };
    const { contactId } = await run<CreateContact, { contactId: string }>(CreateContact, fields);
    contactIds.push(contactId);
  }
  const { listId } = await run<CreateList, { listId: string }>(CreateList, { name: 'River friends' });
  await run(AddContacts, { listId, contactIds: contactIds.slice(0, 2) });
  const { tagId } = await run<CreateTag, { tagId: string }>(CreateTag, { name: 'Donor' });
  await run(TagContacts, { tagId, contactIds: contactIds.slice(1) });

  const { imageId } = await run<UploadImage, { imageId: string }>(UploadImage, {
    name: 'River',
    alt: 'A river winds through green hills towards low mountains, behind which the sun rises.',
    mediaType: 'image/jpeg',
    bytes: createReadStream(createRequire(import.meta.url).resolve('#demo-picture')),
  });
  const { petitionId } = await run<CreatePetition, { petitionId: string }>(CreatePetition, {
    name: 'Save the river',
    imageId,
    target: 'The city council',
    ask: 'Stop the discharge of untreated water.',
  });
  await run(PublishPetition, { petitionId });
  for (const contactId of contactIds) await run(AddSignature, { petitionId, contactId });

  const { postId } = await run<CreatePost, { postId: string }>(CreatePost, {
    name: 'First signatures',
    description: 'Four people have signed. Ask four more.',
    imageId,
  });
  await run(PublishPost, { postId });

  await run(UpdateOrganization, {
    mailFrom: { name: 'Demo organization', address: 'demo@example.org' },
    postalAddress: '1 River Road\nHarbour Town',
  });
  const { broadcastId } = await run<CreateBroadcast, { broadcastId: string }>(CreateBroadcast, {
    name: 'Thank you',
    subject: 'Thank you, {{ contact.firstName | default: "friend" }}',
    content:
      'You are one of **{{ petition.signatures }}** who have signed *{{ petition.title }}*.\n\n' +
      'Forward this mail to somebody who would sign, too.',
    audience: { petitionIds: [petitionId] },
  });
  await run(SendBroadcast, { broadcastId });
  await run(CreateBroadcast, {
    name: 'What comes next',
    content: 'Dear {{ contact.firstName | default: "friend" }},\n\nnext month we hand over the signatures.',
    audience: { listIds: [listId] },
  });
  return { organizationId, key, petitionId };
}

/** What the terminal shows once. The key appears here and nowhere else. */
export function welcome(origin: string, { organizationId, key, petitionId }: Demo): string {
  const body = JSON.stringify({ petitionId, contact: { email: 'you@example.org', firstName: 'You' } });
  return `
  A demo organization was made, with contacts, a list, a tag, a picture, a post, a petition that people signed, and broadcasts: a draft, and
  one that was written into files beside the database (DATA_DIR/mail), for want of a mail server.
  Its key is shown this once:

    organization  ${organizationId}
    API key       ${key}
    petition      ${petitionId}

  The documentation is at ${origin}/docs. Sign the petition:

curl -X POST ${origin}/v1/petition.add-signature -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' -d '${body}'

`;
}
