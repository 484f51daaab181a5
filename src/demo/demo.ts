import { type INestApplicationContext, type LoggerService } from '@nestjs/common';
import { type DataSource } from 'typeorm';
import { createReadStream } from 'node:fs';
import { createRequire } from 'node:module';
import { newId } from '#libs/random';
import { exclusively } from '#libs/database';
import { type Input, type InputClass, OperationRunner, type Page, RpcError, systemInput } from '#libs/rpc';
import { setTimeout as sleep } from 'node:timers/promises';
import { CreateBroadcast, ListBroadcasts, PauseBroadcast, SendBroadcast } from '../broadcasts/index.js';
import { CreateContact } from '../contacts/index.js';
import { CreateField } from '../fields/index.js';
import { UploadImage } from '../images/index.js';
import { AddContacts, CreateList } from '../lists/index.js';
import { CreateOrganization, UpdateOrganization } from '../organizations/index.js';
import {
  AddSignature,
  ConfirmSignature,
  CreatePetition,
  PublishPetition,
  RequestSignature,
} from '../petitions/index.js';
import { form, UpdateForm } from '../forms/index.js';
import { CreatePost, PublishPost } from '../posts/index.js';
import { CreateNote } from '../notes/index.js';
import { CreateSegment } from '../segments/index.js';
import { CreateTag, TagContacts } from '../tags/index.js';
import { AcceptInvitation, InvitationLinks, InviteMember, type Role } from '../team/index.js';
import { CreateView } from '../views/index.js';

const CONTACTS = [
  { firstName: 'Ada', lastName: 'Lovelace', city: 'London', country: 'United Kingdom' },
  { firstName: 'Chico', lastName: 'Mendes', city: 'Xapuri', country: 'Brazil' },
  { firstName: 'Rachel', lastName: 'Carson', city: 'Springdale', country: 'United States' },
  { firstName: 'Wangari', lastName: 'Maathai', city: 'Nairobi', country: 'Kenya' },
];

/** People who signed on the petition page, and some of their comments. */
const SIGNERS =
  'Amina,Kenya;Bruno,Brazil;Carla,Spain;Daniel,Germany;Elif,Germany;Fatou,France;Greta,Sweden;Hugo,France;Ines,Spain;Jonas,Germany;' +
  'Kofi,Kenya;Lena,Germany;Mateo,Spain;Nadia,France;Oskar,Sweden;Priya,India;Quentin,France;Rosa,Brazil;Samir,France;Tomas,Spain;' +
  'Uma,India;Vera,Germany;Wei,China;Ximena,Mexico;Yusuf,Kenya;Zoe,United Kingdom;Anton,Sweden;Bea,Spain;Cem,Germany;Dora,Germany;' +
  'Emil,Sweden;Farah,France;Gita,India;Hana,Germany;Ivo,Germany;Jana,Germany';
const COMMENTS: Record<string, string> = {
  Amina: 'My children learned to swim here. I want theirs to do the same.',
  Jonas: 'I have fished here since I was ten. Last summer there was nothing left to catch.',
  Rosa: 'Water is life. It is as simple as that.',
  Vera: 'We pay for a treatment plant. Please use it.',
  Jana: 'For the kingfishers.',
};
/** What signers can offer in the petition's form. */
const HELP = ['Hand out leaflets', 'Collect signatures', 'Speak in public'];
const SOURCES = ['newsletter', null, 'whatsapp', null, 'embed'];

const STORY = `For three years the plant above the old bridge has let untreated water into the river whenever it rains. **It doesn’t have to be this way**:
the new basin has been built, but has never been switched on.

## What we have seen

- Fish died in *April, June and September*.
- The bathing place at the mill is closed for the second summer.
- The city has measured all of it and published nothing.

> The basin can hold a whole night’s rain. All it takes is a decision.

We will hand over the signatures at the next public session of the council.`;

const MOST_UPLOADS = 10;
const CHECK_EVERY_MS = 100;
const MOST_CHECKS = 600;
/** The actor in the demo's events. */
const ACTOR = 'first-start';

/** The records that the first start created. */
type Demo = { organizationId: string; key: string; petitionId: string; path: string; invitation: string };

/**
 * Creates the first organization of an empty embedded database, with sample data and an API key, through the same commands
 * as any client.
 */
export async function createDemo(
  app: INestApplicationContext,
  { source }: { source: DataSource },
): Promise<Demo | undefined> {
  if (await isUsed(source)) return undefined;
  // The lock ensures that only one of two servers that start on the same directory creates the demo.
  return exclusively(source, async () =>
    (await isUsed(source))
      ? undefined
      : fillDemo(app.get(OperationRunner), app.get(InvitationLinks, { strict: false })),
  );
}

/** Whether an organization exists: its creation is the first event of every history. */
async function isUsed(source: DataSource): Promise<boolean> {
  const [log] = await source.query<{ used: boolean }[]>('SELECT EXISTS (SELECT FROM events) AS used');
  return log!.used;
}

/** Whether a first start ended before the demo was complete, so that no one has seen its key. */
async function isUnfinished(source: DataSource): Promise<boolean> {
  const [log] = await source.query<{ unfinished: boolean }[]>(
    `SELECT metadata->'actor'->>'id' = $1 AND NOT EXISTS (
       SELECT FROM events later WHERE later.organization_id = first.organization_id AND later.type = 'MemberInvited'
         AND later.data->>'role' = 'OWNER'
     ) AS unfinished FROM events first ORDER BY position LIMIT 1`,
    [ACTOR],
  );
  return log?.unfinished ?? false;
}

/**
 * Logs how to create the first organization if none exists, or how to repair a demo that is incomplete. People who run a
 * container for the first time look at its log first.
 */
export async function logFirstSteps(
  { source }: { source: DataSource },
  logger: LoggerService,
): Promise<void> {
  // Ignores a lost connection, which is logged elsewhere.
  if (await isUsed(source).catch(() => true)) {
    if (await isUnfinished(source).catch(() => false))
      logger.warn({
        message:
          'the first start ended before the demo was complete: stop the server, run `npm run demo -- reset`, and start again',
      });
    return;
  }
  const create = 'organization create --name Rivers';
  logger.log({
    message: 'no organization exists yet: run this command to create one and print its first API key',
    inCompose: `docker compose exec api advocacy ${create}`,
    inContainer: `advocacy ${create}`,
    inCheckout: `npm run -s cli -- ${create}`,
  });
}

/** Waits until the emails of the demo are written: until then, log lines follow what the first start prints. */
export async function demoIsSent(
  app: INestApplicationContext,
  { organizationId }: { organizationId: string },
): Promise<void> {
  const runner = app.get(OperationRunner);
  const sending = systemInput(
    ListBroadcasts,
    organizationId,
    { status: 'SENDING', sort: 'createdAt', limit: 1 },
    ACTOR,
  );
  for (let checks = 0; checks < MOST_CHECKS; checks += 1) {
    const { records } = await runner.execute<Page<unknown>>(sending);
    if (records.length === 0) return;
    await sleep(CHECK_EVERY_MS);
  }
}

type Named = Input & { name: string };
type Run = <T extends Input, Answer>(type: InputClass<T>, fields: Partial<T>) => Promise<Answer>;

async function fillDemo(runner: OperationRunner, links: InvitationLinks): Promise<Demo> {
  const organizationId = newId();
  const run: Run = (type, fields) => runner.execute(systemInput(type, organizationId, fields, ACTOR));

  const { key } = await run<CreateOrganization, { key: string }>(CreateOrganization, {
    name: 'Demo organization',
  });
  const contactIds: string[] = [];
  for (const person of CONTACTS) {
    const email = `${person.firstName.toLowerCase()}@example.org`;
    const fields = { ...person, email, onConflict: 'fail' as const };
    const { contactId } = await run<CreateContact, { contactId: string }>(CreateContact, fields);
    contactIds.push(contactId);
  }
  const { listId } = await run<Named, { listId: string }>(CreateList, { name: 'River friends' });
  await run(AddContacts, { listId, contactIds: contactIds.slice(0, 2) });
  const { tagId } = await run<Named, { tagId: string }>(CreateTag, { name: 'Donor' });
  await run(TagContacts, { tagId, contactIds: contactIds.slice(1) });
  await run(CreateNote, {
    contactId: contactIds[0],
    text: 'Called. Wants to help at the stall on Saturday.',
  });
  await run(CreateSegment, {
    name: 'Donors abroad',
    filter: { all: [{ tag: tagId }, { field: 'country', op: 'isNot', value: 'United Kingdom' }] },
  });
  const { fieldId } = await run<CreateField, { fieldId: string }>(CreateField, {
    name: 'Can help',
    type: 'CHOICES',
    options: HELP,
  });
  await run(CreateSegment, {
    name: 'Can collect signatures',
    filter: { field: 'fields.canHelp', op: 'contains', value: HELP[1]! },
  });

  const upload = async (name: string, alt: string, file: string): Promise<string> => {
    const mediaType = file.endsWith('logo') ? 'image/png' : 'image/jpeg';
    for (let attempt = 1; ; attempt += 1) {
      const bytes = createReadStream(createRequire(import.meta.url).resolve(file));
      const fields = { name, alt, mediaType, bytes };
      try {
        return (await run<UploadImage, { imageId: string }>(UploadImage, fields)).imageId;
      } catch (error) {
        // A busy machine decodes it later. Without this, the first start would fail and leave half a demo.
        if (!(error instanceof RpcError && error.code === 'SERVICE_UNAVAILABLE' && attempt < MOST_UPLOADS))
          throw error;
      }
    }
  };
  const imageId = await upload(
    'River',
    'A river winds through green hills towards low mountains, behind which the sun rises.',
    '#demo-picture',
  );
  await run(UpdateOrganization, {
    slug: 'demo',
    colour: '#0b6e4f',
    imageId: await upload('Logo', 'Two waves', '#demo-logo'),
    mailFrom: { name: 'Demo organization', address: 'demo@example.org' },
    postalAddress: '1 River Road\nHarbour Town',
  });

  const { petitionId } = await run<CreatePetition, { petitionId: string }>(CreatePetition, {
    name: 'Save the river',
    title: 'Save our river: switch the basin on',
    imageId,
    description:
      'Untreated water is killing the river in the middle of our town. The basin that would stop it has already been built.',
    target: 'The city council',
    ask: 'Stop the discharge of untreated water.',
    content: STORY,
    comments: 'SHOWN',
    formFields: [{ fieldId, required: false }],
  });
  await run(PublishPetition, { petitionId });
  for (const contactId of contactIds) await run(AddSignature, { petitionId, contactId });
  for (const [n, signer] of SIGNERS.split(';').entries()) {
    const [firstName = '', country = ''] = signer.split(',');
    const comment = COMMENTS[firstName] ?? null;
    const { requestId } = await run<RequestSignature, { requestId: string }>(RequestSignature, {
      petitionId,
      firstName,
      lastName: null,
      email: `${firstName.toLowerCase()}.signer@example.org`,
      zip: null,
      country,
      comment,
      isCommentPublic: comment !== null,
      subscribe: n % 3 === 0,
      source: SOURCES[n % SOURCES.length]!,
      clientAddress: null,
      suspicion: [],
      customFields: n % 4 === 0 ? { [fieldId]: [HELP[n % HELP.length]!] } : {},
    });
    await run(ConfirmSignature, { requestId, isProved: true });
  }

  await run(UpdateForm, {
    formId: form.builtIn!.idIn(organizationId),
    text: 'News about our rivers, about once a month.',
    fields: [
      { field: 'firstName', required: false },
      { field: 'zip', required: false },
    ],
  });
  const { postId } = await run<CreatePost, { postId: string }>(CreatePost, {
    name: 'The first forty',
    description: 'Forty people signed on the first day. Ask four more.',
    content:
      'Thank you! **Forty signatures** on the first day is more than we had hoped for.\n\nIf each of us asks four others, we will reach our goal within a week.',
    imageId,
  });
  await run(PublishPost, { postId });

  await pauseOne(run, petitionId);
  const { broadcastId } = await run<CreateBroadcast, { broadcastId: string }>(CreateBroadcast, {
    name: 'Thank you',
    subject: 'Thank you, {{ contact.firstName | default: "friend" }}',
    content:
      'You are one of **{{ petition.signatures }}** people who have signed *{{ petition.title }}*.\n\n' +
      'Forward this email to someone else who would sign.',
    audience: { petitionIds: [petitionId] },
  });
  await run(SendBroadcast, { broadcastId });
  await run(CreateBroadcast, {
    name: 'What comes next',
    content:
      'Dear {{ contact.firstName | default: "friend" }},\n\nNext month we will hand over the signatures.',
    audience: { listIds: [listId] },
  });
  await run(CreateView, {
    name: 'Subscribers',
    operation: 'contact.list-contacts',
    parameters: { subscribed: 'true' },
  });
  const invite = (email: string, role: Role) =>
    run<InviteMember, { invitationId: string }>(InviteMember, { email, role });
  await run(AcceptInvitation, await invite('colleague@example.org', 'EDITOR'));
  // The last event: see isUnfinished.
  const { invitationId } = await invite('you@example.org', 'OWNER');
  const { pathname: invitation } = new URL(links.urlOf({ organizationId, invitationId }));
  return { organizationId, key, petitionId, path: '/demo/petitions/save-the-river', invitation };
}

/** An email that was paused while it was being sent, to try to resume it. */
async function pauseOne(run: Run, petitionId: string): Promise<void> {
  const { broadcastId } = await run<CreateBroadcast, { broadcastId: string }>(CreateBroadcast, {
    name: 'Ask your friends',
    subject: 'Who else would sign?',
    content: '*{{ petition.title }}* needs more voices. [Send the petition to a friend]({{ petition.url }}).',
    audience: { petitionIds: [petitionId] },
  });
  await run(SendBroadcast, { broadcastId });
  await run(PauseBroadcast, { broadcastId }).catch((error: unknown) => {
    // A machine may have sent all messages by then.
    if (!(error instanceof RpcError && error.details.reason === 'BROADCAST_NOT_SENDING')) throw error;
  });
}

/** The text that the first start prints. It is the only place that shows the key. */
export function welcome(origin: string, { organizationId, key, petitionId, path, invitation }: Demo): string {
  const body = JSON.stringify({ petitionId, contact: { email: 'you@example.org', firstName: 'You' } });
  return `
  A demo organization has been created, with contacts, a list, a tag, an image, a post, a petition with signatures and three broadcasts.
  One broadcast is a draft and one is paused. The third was written to files in DATA_DIR/mail, because MAIL_URL is not set.
  The API key is only shown once:

    organization   ${organizationId}
    API key        ${key}
    petition       ${petitionId}
    petition page  ${origin}${path}
    dashboard      ${origin}${invitation}
                   (signs you in once, as you@example.org)

    documentation  ${origin}/docs#${key}
                   (calls every operation with this key)

  To sign the petition, open its page in a browser, or call the API:

curl -X POST ${origin}/v1/petition.add-signature -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' -d '${body}'

`;
}
