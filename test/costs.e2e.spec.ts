import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client as Connection } from 'pg';
import {
  type CountingProxy,
  type PostgresServer,
  startCountingProxy,
  startPostgres,
  type Turn,
} from '#libs/testing';
import { type Answer, Api, Client } from './harness.js';
import { isLong } from './length.js';
import { acceptInvitation } from './people-in.js';
import { picture } from './pictures.js';

/**
 * What each operation asks of PostgreSQL, counted from outside: nobody makes it more unseen. Who changes it on purpose notes it:
 *
 *     UPDATE_COSTS=1 npm test -- costs
 */
type Cost = {
  /** Of SQL, BEGIN and COMMIT among them. */
  statements: number;
  /** How often somebody waited for the network: see `Turn`. */
  turns: number;
  /** Transactions that wrote something and waited for the disk. */
  durable: number;
  /** Bytes of the write-ahead log, without images of whole pages. */
  wal: number;
};
const COUNTED = ['statements', 'turns', 'durable'] as const;
/** Of one caller, exactly, and bounds for all of `callers` together. */
type Noted = { alone: Cost; atOnce: Cost & { callers: number } };

const FILE = join(__dirname, 'costs.json');
const UPDATE = process.env.UPDATE_COSTS === '1';
const noted = JSON.parse(readFileSync(FILE, 'utf8')) as { [name: string]: Noted };

/** Callers at the same moment. */
const CALLERS = 64;
/** Of those who are in each other's way by design, and begin again: on one record, or on the keys of one organization. */
const CALLERS_OF_ONE_RECORD = 4;
/** No key may have more of them open. */
const CALLERS_OF_STREAMS = 4;
const CALLERS_OF_WEBHOOKS = 4;
/** The most that any of them is. */
const FEW_CALLERS = 4;

/**
 * Pages of indexes split now and then, and versions of rows that nobody needs are tidied up by whoever comes by: who notes that may
 * note more than others write.
 */
const WAL_TOLERANCE = { above: 0.15, below: 0.4, bytes: 100 };
/**
 * How callers fall into the same appends and flights depends on timing: so what is noted for many are bounds, above what was
 * counted, at least one statement for every fourth. What they are there to show, a caller who costs more for each other one or
 * shares no more with them, is many times that.
 */
const MARGIN = { times: 2, wal: 1.3, ofCallers: 1 / 4, bytes: 4_096 };
/** A bound that is so many times what is counted is to be noted anew. */
const FAR_ABOVE = 4;
/** What is true is true in one of them. On a busy machine many are disturbed: more flights, and now and then a page of an index that splits. */
const TRIES = 8;

/** Who asks: half a second after that was last asked. It has a test of its own. */
const LOOK_UP = /FROM api_keys_v\d+\.api_keys k .* WHERE public_id = (\$1|ANY \(\$1\))$/;
/** What instances ask at times of their own. */
const BACKGROUND = [
  LOOK_UP,
  // Once a second: health.
  /FROM checkpoints c ORDER BY c\.projection, c\.version$/,
];
/** … and write, now and then: when keys were last used, and whether writing works. What is counted meanwhile does not count. */
const DISTURBANCES = [/^INSERT INTO api_key_use/, /SET LOCAL statement_timeout = 2000$/];

let postgres: PostgresServer;
let proxy: CountingProxy;
let api: Api;
let watcher: Connection;

beforeAll(async () => {
  postgres = await startPostgres({
    settings: {
      // With it the log itself tells which commits were waited for; without a standby it does what `on` does.
      synchronous_commit: 'remote_apply',
      // Nobody's data: what is counted is who waits, not for how long.
      fsync: 'off',
      full_page_writes: 'off',
      autovacuum: 'off',
      checkpoint_timeout: '1d',
      max_wal_size: '8GB',
    },
  });
  process.env.TEST_DATABASE_URL = postgres.applicationUrl;
  api = await Api.start({ instances: 0 });
  proxy = await startCountingProxy(api.database.url);
  const { runtime } = await api.addInstance({ DATABASE_URL: proxy.url });
  // Looks at the read models twice a second.
  await runtime.projections.stop();
  client = await api.organization();
  const { pathname } = new URL(api.database.url);
  watcher = new Connection({ connectionString: Object.assign(new URL(postgres.url), { pathname }).href });
  await watcher.connect();
  await watcher.query('CREATE EXTENSION pg_walinspect');
});
afterAll(async () => {
  await watcher.end();
  await api.stop();
  await proxy.close();
  await postgres.remove();
});

type Fields = Record<string, unknown>;

let client: Client;
/** The records of one case. */
class Own {
  private static made = 0;
  private static readonly contacts: Promise<Fields>[] = [];
  private readonly first = new Map<string, Promise<Fields>>();
  private taken = 0;

  constructor(readonly by: Client) {}

  /** A text that is there once. */
  unique(): string {
    return `n${(Own.made += 1)}`;
  }

  get person(): Fields {
    const text = this.unique();
    return { email: `${text}@example.org`, firstName: `Ada ${text}`, lastName: 'Lovelace', city: 'London' };
  }

  /** One for all who ask. */
  the(field: keyof typeof MAKE): Promise<Fields> {
    if (!this.first.has(field)) this.first.set(field, this.a(field));
    return this.first.get(field)!;
  }

  /** Another one each time. */
  async a(field: keyof typeof MAKE): Promise<Fields> {
    return { [field]: (await MAKE[field](this))[field] };
  }

  /** What invalidate-signatures is asked, each time about another one. */
  async aSignature(): Promise<Fields> {
    const { petitionId } = await this.the('petitionId');
    const { contactId } = await this.a('contactId');
    const { signatureId } = await ask('petition.add-signature', { petitionId, contactId });
    return { petitionId, signatureIds: [signatureId] };
  }

  /** Made for other cases, too. */
  someContact(): Promise<Fields> {
    const { contacts } = Own;
    if (this.taken === contacts.length) contacts.push(this.a('contactId'));
    return contacts[(this.taken += 1) - 1]!;
  }
}

/** @param by whose key it is asked with, where it is not the one of all. */
async function ask(operation: string, fields: Fields, by = client): Promise<any> {
  const { organizationId } = by;
  const send = (): Promise<Answer> => {
    if (operation === 'contact.import-contacts') {
      const type = { 'Content-Type': 'text/csv' };
      return by.request('POST', `/v1/${operation}`, fields.csv as string, type);
    }
    if (operation === 'image.upload-image') {
      const type = { 'Content-Type': 'image/png' };
      return by.request('POST', `/v1/${operation}`, fields.png as Uint8Array<ArrayBuffer>, type);
    }
    const all = operation.startsWith('contact.') ? { organizationId, ...fields } : fields;
    if (/\.(get|list|export|preview)-/.test(operation))
      return by.get(operation, all as Record<string, string>);
    return by[/\.(delete|remove|revoke)-/.test(operation) ? 'delete' : 'post'](operation, all);
  };
  const { status, body } = await send();
  expect({ operation, status, error: body.error }).toEqual({ operation, status: 200 });
  return body.data;
}

let lastUpload: Promise<unknown> = Promise.resolve();
/** A key has few streams at once. */
function uploadInTurn(): Promise<Fields> {
  const uploaded = lastUpload.then(async () => ask('image.upload-image', { png: await picture() }));
  lastUpload = uploaded;
  return uploaded;
}

/** How records are made, by the field that names one. */
const MAKE = {
  contactId: (own: Own) => ask('contact.create-contact', own.person),
  petitionId: async (own: Own) => {
    const { petitionId } = await ask('petition.create-petition', { name: own.unique(), goal: 9 });
    await ask('petition.publish-petition', { petitionId });
    return { petitionId };
  },
  draftId: async (own: Own) => {
    const { petitionId } = await ask('petition.create-petition', { name: own.unique() });
    return { draftId: petitionId };
  },
  invalidationId: async (own: Own) => ask('petition.invalidate-signatures', await own.aSignature()),
  postId: (own: Own) => ask('post.create-post', { name: own.unique() }),
  publishedPostId: async (own: Own) => {
    const { postId } = await own.a('postId');
    await ask('post.publish-post', { postId });
    return { publishedPostId: postId };
  },
  listId: (own: Own) => ask('list.create-list', { name: own.unique() }),
  tagId: (own: Own) => ask('tag.create-tag', { name: own.unique() }),
  broadcastId: async (own: Own) => {
    const { contactId } = await own.someContact();
    const audience = { contactIds: [contactId] };
    return ask('broadcast.create-broadcast', { name: own.unique(), content: 'Hello', audience });
  },
  sendingId: async (own: Own) => {
    await ask('organization.update-organization', {
      mailFrom: { name: 'Rivers', address: 'news@example.org' },
      postalAddress: '1 Quay',
    });
    const { broadcastId } = await own.a('broadcastId');
    await ask('broadcast.send-broadcast', { broadcastId });
    return { sendingId: broadcastId };
  },
  imageId: () => uploadInTurn(),
  apiKeyId: (own: Own) => ask('api-key.create-api-key', { name: own.unique() }),
  invitationId: (own: Own) => ask('team.invite-member', { email: own.person.email, role: 'VIEWER' }),
  memberId: async (own: Own) => {
    const { invitationId } = await own.a('invitationId');
    await acceptInvitation(api, own.by, invitationId as string);
    return { memberId: invitationId };
  },
  webhookId: (own: Own) => ask('webhook.create-webhook', { url: `https://${own.unique()}.invalid/` }, own.by),
  eventId: async (own: Own) => {
    const [{ id }] = await ask('event.list-events', {}, own.by);
    return { eventId: id };
  },
} satisfies { [field: string]: (own: Own) => Promise<any> };

/** A broadcast that is being sent, by nobody: no reactions run here. */
async function sending(own: Own): Promise<Fields> {
  return { broadcastId: (await own.the('sendingId')).sendingId };
}

/** One whose links are removed again. */
async function linked(own: Own, operation: string, field: 'listId' | 'tagId'): Promise<Fields> {
  const { contactId } = await own.someContact();
  const fields = { ...(await own.the(field)), contactIds: [contactId] };
  await ask(operation, fields);
  return fields;
}

/** Every operation, and what of it differs much: what one caller asks. */
const CASES: { [name: string]: (own: Own) => Fields | Promise<Fields> } = {
  'contact.create-contact': (own) => own.person,
  'contact.get-contact': (own) => own.someContact(),
  'contact.get-contact (as it was)': async (own) => ({
    ...(await own.someContact()),
    asOf: new Date().toISOString(),
  }),
  'contact.list-contacts': () => ({}),
  'contact.list-contacts (q)': () => ({ q: 'ada' }),
  'contact.update-contact': async (own) => ({ ...(await own.someContact()), city: own.unique() }),
  'contact.delete-contact': (own) => own.a('contactId'),
  'contact.import-contacts': (own) => {
    const lines = Array.from({ length: 10 }, () => `${own.unique()}@example.org,Ada`);
    return { csv: ['email,firstName', ...lines, ''].join('\n') };
  },
  'contact.export-contacts': async (own) => ({
    listId: (await linked(own, 'list.add-contacts', 'listId')).listId,
  }),
  'petition.create-petition': (own) => ({ name: own.unique(), goal: 9 }),
  'petition.get-petition': (own) => own.the('petitionId'),
  'petition.get-stats': (own) => own.the('petitionId'),
  'petition.list-petitions': () => ({}),
  'petition.update-petition': async (own) => ({ ...(await own.a('petitionId')), title: own.unique() }),
  'petition.publish-petition': async (own) => ({ petitionId: (await own.a('draftId')).draftId }),
  'petition.close-petition': (own) => own.a('petitionId'),
  'petition.delete-petition': async (own) => ({ petitionId: (await own.a('draftId')).draftId }),
  'petition.add-signature': async (own) => ({
    ...(await own.the('petitionId')),
    ...(await own.someContact()),
  }),
  'petition.add-signature (a new person)': async (own) => ({
    ...(await own.the('petitionId')),
    contact: own.person,
  }),
  'petition.add-signature (again)': async (own) => {
    const fields = { ...(await own.the('petitionId')), ...(await own.the('contactId')) };
    await ask('petition.add-signature', fields);
    return fields;
  },
  'petition.remove-signature': async (own) => {
    const fields = { ...(await own.the('petitionId')), ...(await own.someContact()) };
    await ask('petition.add-signature', fields);
    return fields;
  },
  'petition.list-signatures': (own) => own.the('petitionId'),
  'petition.export-signatures': async (own) => ({
    petitionId: (await own.aSignature()).petitionId,
    contacts: 'true',
  }),
  'petition.invalidate-signatures': (own) => own.aSignature(),
  'petition.restore-signatures': async (own) => ({
    invalidationId: (await ask('petition.invalidate-signatures', await own.aSignature())).invalidationId,
  }),
  'petition.get-invalidation': (own) => own.the('invalidationId'),
  'petition.list-invalidations': () => ({}),
  'post.create-post': (own) => ({ name: own.unique() }),
  'post.get-post': (own) => own.the('postId'),
  'post.list-posts': () => ({}),
  'post.update-post': async (own) => ({ ...(await own.a('postId')), title: own.unique() }),
  'post.publish-post': (own) => own.a('postId'),
  'post.archive-post': async (own) => ({ postId: (await own.a('publishedPostId')).publishedPostId }),
  'post.delete-post': (own) => own.a('postId'),
  'list.create-list': (own) => ({ name: own.unique() }),
  'list.get-list': (own) => own.the('listId'),
  'list.list-lists': () => ({}),
  'list.update-list': async (own) => ({ ...(await own.a('listId')), description: own.unique() }),
  'list.delete-list': (own) => own.a('listId'),
  'list.add-contacts': async (own) => ({
    ...(await own.the('listId')),
    contactIds: [(await own.someContact()).contactId],
  }),
  'list.remove-contacts': (own) => linked(own, 'list.add-contacts', 'listId'),
  'organization.get-organization': () => ({}),
  'organization.update-organization': (own) => ({ website: `https://${own.unique()}.example.org` }),
  'api-key.create-api-key': (own) => ({ name: own.unique() }),
  'api-key.list-api-keys': () => ({}),
  'api-key.rotate-api-key': async (own) => ({ ...(await own.a('apiKeyId')), overlapSeconds: 60 }),
  'api-key.revoke-api-key': (own) => own.a('apiKeyId'),
  'event.list-events': () => ({}),
  'event.get-event': (own) => own.the('eventId'),
  'event.export-events': () => ({}),
  'event.get-proof': (own) => own.the('eventId'),
  'event.get-checkpoint': () => ({}),
  'tag.create-tag': (own) => ({ name: own.unique() }),
  'tag.get-tag': (own) => own.the('tagId'),
  'tag.list-tags': () => ({}),
  'tag.update-tag': async (own) => ({ ...(await own.a('tagId')), description: own.unique() }),
  'tag.delete-tag': (own) => own.a('tagId'),
  'tag.add-contacts': async (own) => ({
    ...(await own.the('tagId')),
    contactIds: [(await own.someContact()).contactId],
  }),
  'tag.remove-contacts': (own) => linked(own, 'tag.add-contacts', 'tagId'),
  'team.invite-member': (own) => ({ email: own.person.email, role: 'EDITOR' }),
  'team.list-members': () => ({}),
  'team.update-member': async (own) => ({ ...(await own.a('memberId')), role: 'EDITOR' }),
  'team.remove-member': (own) => own.a('memberId'),
  'team.list-invitations': () => ({}),
  'team.revoke-invitation': (own) => own.a('invitationId'),
  'webhook.create-webhook': (own) => ({ url: `https://${own.unique()}.invalid/` }),
  'webhook.get-webhook': (own) => own.the('webhookId'),
  'webhook.list-webhooks': () => ({}),
  'webhook.update-webhook': async (own) => ({ ...(await own.a('webhookId')), description: own.unique() }),
  'webhook.pause-webhook': (own) => own.a('webhookId'),
  'webhook.resume-webhook': async (own) => {
    const fields = await own.a('webhookId');
    await ask('webhook.pause-webhook', fields, own.by);
    return fields;
  },
  'webhook.rotate-secret': (own) => own.a('webhookId'),
  'webhook.test-webhook': (own) => own.the('webhookId'),
  'webhook.list-deliveries': (own) => own.the('webhookId'),
  'webhook.redeliver': async (own) => ({ ...(await own.a('webhookId')), ...(await own.the('eventId')) }),
  'webhook.replay-webhook': async (own) => ({ ...(await own.a('webhookId')), fromPosition: 0 }),
  'webhook.delete-webhook': (own) => own.a('webhookId'),
  'webhook.list-event-types': () => ({}),
  'image.upload-image': async () => ({ png: await picture() }),
  'image.get-image': (own) => own.the('imageId'),
  'image.list-images': () => ({}),
  'image.update-image': async (own) => ({ ...(await own.a('imageId')), alt: own.unique() }),
  'image.delete-image': (own) => own.a('imageId'),
  'suppression.create-suppression': (own) => ({ email: own.person.email }),
  'suppression.list-suppressions': () => ({}),
  'suppression.delete-suppression': async (own) => {
    const { email } = own.person;
    await ask('suppression.create-suppression', { email });
    return { email };
  },
  'broadcast.create-broadcast': (own) => ({ name: own.unique() }),
  'broadcast.get-broadcast': (own) => own.the('broadcastId'),
  'broadcast.list-broadcasts': () => ({}),
  'broadcast.update-broadcast': async (own) => ({ ...(await own.a('broadcastId')), subject: own.unique() }),
  'broadcast.delete-broadcast': (own) => own.a('broadcastId'),
  'broadcast.preview-audience': (own) => own.the('broadcastId'),
  'broadcast.preview-broadcast': (own) => own.the('broadcastId'),
  'broadcast.send-test': async (own) => ({ ...(await sending(own)), to: ['me@example.org'] }),
  'broadcast.send-broadcast': async (own) => {
    await own.the('sendingId');
    return own.a('broadcastId');
  },
  'broadcast.pause-broadcast': async (own) => ({ broadcastId: (await own.a('sendingId')).sendingId }),
  'broadcast.resume-broadcast': async (own) => {
    const { sendingId: broadcastId } = await own.a('sendingId');
    await ask('broadcast.pause-broadcast', { broadcastId });
    return { broadcastId };
  },
  'broadcast.cancel-broadcast': async (own) => ({ broadcastId: (await own.a('sendingId')).sendingId }),
  'broadcast.list-recipients': (own) => sending(own),
  'broadcast.retry-recipients': async (own) => ({ ...(await sending(own)), status: 'FAILED' }),
};

type Counted = { cost: Cost; statements: string[] };

/** What PostgreSQL is asked for while `work` runs, for it alone. */
async function count(work: () => Promise<unknown>): Promise<Counted> {
  await proxy.quiet();
  const from = await position();
  proxy.forget();
  await work();
  await proxy.quiet();
  const to = await position();
  const turns = proxy.turns.filter(({ statements }) => !isBackground(statements));
  const { durable, wal } = await written(from, to);
  const statements = turns.flatMap((turn: Turn) => turn.statements);
  return { cost: { statements: statements.length, turns: turns.length, durable, wal }, statements };
}

function isBackground(statements: readonly string[]): boolean {
  return statements.length > 0 && statements.every((one) => BACKGROUND.some((known) => known.test(one)));
}

async function position(): Promise<string> {
  const { rows } = await watcher.query<{ lsn: string }>('SELECT pg_current_wal_insert_lsn() AS lsn');
  return rows[0]!.lsn;
}

async function written(from: string, to: string): Promise<Pick<Cost, 'durable' | 'wal'>> {
  if (from === to) return { durable: 0, wal: 0 };
  // What was not waited for is not on the disk yet, and only what is can be read.
  await watcher.query(`SELECT pg_logical_emit_message(true, 'costs', '', true)`);
  const { rows } = await watcher.query<Pick<Cost, 'durable' | 'wal'>>(
    `SELECT (count(*) FILTER (WHERE is_durable AND records > 1))::int AS durable, coalesce(sum(bytes), 0)::int AS wal
     FROM (
       SELECT bool_or(resource_manager = 'Transaction' AND description LIKE '%apply_feedback%') AS is_durable,
              count(*) AS records, sum(record_length - fpi_length) AS bytes
       FROM pg_get_wal_records_info($1, $2)
       WHERE resource_manager NOT IN ('Standby', 'XLOG')
       GROUP BY CASE WHEN xid::text = '0' THEN NULL ELSE xid::text END
     ) transactions`,
    [from, to],
  );
  return rows[0]!;
}

/**
 * With nothing left to do for those who look at everything that was written.
 *
 * @returns undefined where something else wrote meanwhile.
 */
async function countUndisturbed(requests: (() => Promise<unknown>)[]): Promise<Counted | undefined> {
  await api.instances[0]!.runtime.projections.catchUpWithLog();
  if (requests.length > 1) await openConnections();
  const counted = await count(() => Promise.all(requests.map((request) => request())));
  const all = proxy.turns.flatMap(({ statements }) => statements);
  return all.some((one) => DISTURBANCES.some((known) => known.test(one))) ? undefined : counted;
}

/** So that those who ask at once arrive at once. */
async function openConnections(): Promise<void> {
  const askHealth = async () => (await fetch(`${api.origin}/health/live`)).text();
  await Promise.all(Array.from({ length: CALLERS }, askHealth));
}

/** Tried for many at once also in `npm test`; the others by `npm run test:long`. */
const BUSIEST = [
  'contact.create-contact',
  'contact.get-contact',
  'contact.list-contacts',
  'contact.update-contact',
  'petition.add-signature',
  'petition.get-petition',
  'petition.list-signatures',
  'list.add-contacts',
];

it('every operation is counted', () => {
  expect(Object.keys(CASES)).toEqual(expect.arrayContaining(BUSIEST));
  const document = JSON.parse(readFileSync(join(__dirname, 'openapi.json'), 'utf8')) as { paths: object };
  const operations = Object.keys(document.paths).filter((path) => path.startsWith('/v1/'));
  const counted = new Set(Object.keys(CASES).map((name) => name.split(' ')[0]));
  expect([...counted].sort()).toEqual(operations.map((path) => path.slice('/v1/'.length)).sort());
});

it.each(Object.entries(CASES))(
  `%s costs what is noted, alone${isLong ? ' and for many at once' : ''}`,
  async (name, fieldsOf) => {
    const [operation = ''] = name.split(' ');
    // An export of the history reads all of it that the organization has, a proof leads through all; and of webhooks it may have some only.
    const isApart = /^event\.(export-events|get-proof)$/.test(operation) || operation.startsWith('webhook.');
    const by = isApart ? await api.organization() : client;
    const own = new Own(by);
    const prepare = async (requests: number) => {
      const all = await Promise.all(Array.from({ length: requests }, async () => fieldsOf(own)));
      return all.map((fields) => () => ask(operation, fields, by));
    };
    /** Counts until it is as noted; else answers the least, for more is chance. */
    const countUntil = async (requests: number, holds: (cost: Cost) => boolean) => {
      let least: Counted | undefined;
      for (let tries = 0; tries < TRIES;) {
        const counted = await countUndisturbed(await prepare(requests));
        if (!counted) continue;
        if (holds(counted.cost)) return counted;
        if (!least || isLess(counted.cost, least.cost)) least = counted;
        tries += 1;
      }
      return least!;
    };
    // What is remembered from then on.
    for (const request of await prepare(1)) await request();
    const callers = callersOf(operation);
    const { [name]: before } = noted;
    const isAsNoted = (cost: Cost) => before !== undefined && isSame(cost, before.alone);
    const isWithinBounds = (cost: Cost) => before !== undefined && isWithin(cost, before.atOnce, callers);
    const alone = await countUntil(1, isAsNoted);
    if (!UPDATE && !isAsNoted(alone.cost)) fail(`${name} alone`, alone, before?.alone);
    if (!UPDATE && !isLong && !BUSIEST.includes(name)) return;
    const atOnce = await countUntil(callers, isWithinBounds);

    if (UPDATE) {
      const atMost = { callers, ...boundsOf(atOnce.cost, callers, alone.cost) };
      noted[name] = {
        alone: isAsNoted(alone.cost) ? before!.alone : alone.cost,
        atOnce: isWithinBounds(atOnce.cost) ? before!.atOnce : atMost,
      };
    } else if (!isWithinBounds(atOnce.cost)) {
      fail(`${name} for ${callers} at once`, atOnce, before?.atOnce);
    }
  },
);

it('who asks is looked up once in half a second, however many ask', async () => {
  const { key } = await api.createKey(client.organizationId);
  const stranger = new Client(api.origin, client.organizationId, key);
  await proxy.quiet();
  proxy.forget();
  const started = performance.now();
  const ask = () => stranger.get('organization.get-organization');
  await Promise.all(Array.from({ length: CALLERS }, ask));
  const most = 1 + Math.floor((performance.now() - started) / 500);
  const lookUps = proxy.turns.filter(({ statements }) => statements.some((one) => LOOK_UP.test(one)));
  expect(lookUps[0]).toEqual({ statements: [expect.stringMatching(LOOK_UP)] });
  expect(lookUps.length).toBeLessThanOrEqual(most);
});

function callersOf(operation: string): number {
  if (/^contact\.(import|export)|\.export-(events|signatures)|^image\.(upload|update|delete)/.test(operation))
    return CALLERS_OF_STREAMS;
  // An organization may have some webhooks only.
  if (operation.startsWith('webhook.')) return CALLERS_OF_WEBHOOKS;
  if (/^api-key\.(create|rotate|revoke)|^organization\.update/.test(operation)) return CALLERS_OF_ONE_RECORD;
  return CALLERS;
}

function isLess(one: Cost, other: Cost): boolean {
  return one.statements < other.statements || (one.statements === other.statements && one.wal < other.wal);
}

function isSame({ wal, ...found }: Cost, expected: Cost): boolean {
  const { above, below, bytes } = WAL_TOLERANCE;
  const difference = wal - expected.wal;
  const share = difference > 0 ? above : below;
  const isSameWal = Math.abs(difference) <= Math.max(expected.wal * share, bytes);
  return isSameWal && COUNTED.every((figure) => found[figure] === expected[figure]);
}

/** And the bounds are not so high that what was gained could be lost again unseen. */
function isWithin(found: Cost, bounds: Cost, callers: number): boolean {
  const highest = (figure: (typeof COUNTED)[number]) =>
    FAR_ABOVE * Math.max(found[figure], MARGIN.ofCallers * callers);
  const fits = COUNTED.every(
    (figure) => found[figure] <= bounds[figure] && bounds[figure] <= highest(figure),
  );
  return fits && found.wal <= bounds.wal;
}

/** Whether a few callers share anything is chance: each may cost what it costs alone. */
function boundsOf(found: Cost, callers: number, alone: Cost): Cost {
  const isFew = callers <= FEW_CALLERS;
  const bound = (figure: (typeof COUNTED)[number]) =>
    Math.max(
      MARGIN.times * found[figure],
      Math.ceil(MARGIN.ofCallers * callers),
      isFew ? callers * alone[figure] : 0,
    );
  return {
    statements: bound('statements'),
    turns: bound('turns'),
    durable: bound('durable'),
    wal: Math.max(Math.ceil(MARGIN.wal * Math.max(found.wal, isFew ? callers * alone.wal : 0)), MARGIN.bytes),
  };
}

function fail(what: string, { cost, statements }: Counted, expected: Cost | undefined): never {
  const times = new Map<string, number>();
  for (const one of statements) times.set(one, (times.get(one) ?? 0) + 1);
  const list = [...times].map(([one, count]) => `  ${count} × ${one.slice(0, 200)}`);
  throw new Error(
    [
      `${what} costs ${JSON.stringify(cost)}`,
      `noted is ${JSON.stringify(expected)}`,
      'Where that is meant: UPDATE_COSTS=1 npm test -- costs',
      ...list,
    ].join('\n'),
  );
}

afterAll(() => {
  if (!UPDATE) return;
  const all = Object.fromEntries(Object.keys(CASES).map((name) => [name, noted[name]]));
  const text = JSON.stringify(all, null, 2).replace(/\{[^{}]+\}/g, (figures) => figures.replace(/\s+/g, ' '));
  writeFileSync(FILE, `${text}\n`);
});
