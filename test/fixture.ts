import { operationNamed, operationOf } from '#libs/rpc';
import { type CreateApiKey } from '../src/auth/index.js';
import { type Answer, type Api, Client } from './harness.js';
import { acceptInvitation } from './people-in.js';
import { picture } from './pictures.js';
import { signWithComment } from './signers.js';

/** The input of an operation. An operation that accepts a file gets it as `body` with a `contentType`. */
export type Fields = Record<string, unknown>;

/** Kinds of records, some of them in a certain state. */
export type RecordName =
  | 'contact'
  | 'petition'
  | 'draft'
  | 'signature'
  | 'comment'
  | 'invalidation'
  | 'offlineCount'
  | 'post'
  | 'form'
  | 'publishedPost'
  | 'field'
  | 'segment'
  | 'view'
  | 'note'
  | 'broadcast'
  | 'sending'
  | 'image'
  | 'apiKey'
  | 'publishableKey'
  | 'invitation'
  | 'member'
  | 'owner'
  | 'webhook'
  | 'event'
  | 'import';

type Ids = Record<string, string>;
type Make = (own: Fixture) => Promise<Ids>;

/** Creates records of one organization through the API. */
export class Fixture {
  private static texts = 0;
  private readonly shared = new Map<string, Promise<Ids>>();

  constructor(
    readonly api: Api,
    readonly client: Client,
  ) {}

  get organizationId(): string {
    return this.client.organizationId;
  }

  /** A text that no other record contains. */
  unique(): string {
    return `n${(Fixture.texts += 1)}`;
  }

  person() {
    const text = this.unique();
    return { email: `${text}@example.org`, firstName: `Ada ${text}`, lastName: 'Lovelace', city: 'London' };
  }

  /** The id of the shared record of this kind, as a field. */
  the(name: RecordName | (string & {})): Promise<Ids> {
    if (!this.shared.has(name)) this.shared.set(name, this.a(name));
    return this.shared.get(name)!;
  }

  /** The id of a new record, as a field. A name that `RECORDS` lacks is that of a kind of groups, such as `list`. */
  a(name: RecordName | (string & {})): Promise<Ids> {
    const make = (RECORDS as { [name: string]: Make })[name];
    return (make ?? makes(`${name}.create-${name}`, `${name}Id`, named))(this);
  }

  /** A client of the same organization with its own key. */
  async caller(options: Partial<CreateApiKey>): Promise<Client> {
    const { key } = await this.api.createKey(this.organizationId, options);
    return new Client(this.client.origin, this.organizationId, key);
  }

  /** Sends a request with the method and body type of its operation. */
  send(operation: string, fields: Fields = {}, { by = this.client, headers = {} } = {}): Promise<Answer> {
    const { method, bodyTypes } = operationOf(operationNamed(operation))!;
    if (bodyTypes) {
      const { body, contentType, ...query } = fields;
      const type = { 'Content-Type': contentType as string };
      const path = `/v1/${operation}?${new URLSearchParams(query as Ids).toString()}`;
      return by.request(method, path, body as string, { ...type, ...headers });
    }
    const { organizationId } = by;
    const all = operation.startsWith('contact.') ? { organizationId, ...fields } : fields;
    if (method === 'GET') return by.get(operation, all as Ids, headers);
    return by[method === 'DELETE' ? 'delete' : 'post'](operation, all, headers);
  }

  /** What the operation returns if nothing rejects it. */
  async ask(operation: string, fields?: Fields, more?: Parameters<Fixture['send']>[2]): Promise<any> {
    const { status, body } = await this.send(operation, fields, more);
    expect({ operation, status, error: body.error }).toEqual({ operation, status: 200 });
    return body.data;
  }
}

export const png = async () => ({ body: await picture(), contentType: 'image/png' });
export const csv = (...lines: string[]) => ({
  body: [...lines, ''].join('\n'),
  contentType: 'text/csv',
  subscribed: 'true',
});

function makes(operation: string, id: string, fieldsOf: (own: Fixture) => Fields | Promise<Fields>): Make {
  return async (own) => ({ [id]: (await own.ask(operation, await fieldsOf(own)))[id] });
}

const named = (own: Fixture) => ({ name: own.unique() });

/** Sets the sender, without which nothing can be sent. */
async function setSender(own: Fixture): Promise<void> {
  await own.ask('organization.update-organization', {
    mailFrom: { name: 'Rivers', address: 'news@example.org' },
    postalAddress: '1 Quay',
  });
}

/** Stores a thank-you email that was not sent. */
export async function failThankYou(
  { database }: Pick<Api, 'database'>,
  organizationId: string,
  petitionId: string,
  status = 'FAILED',
): Promise<void> {
  await database.source.query(
    `INSERT INTO thank_you_mails (organization_id, signature_id, petition_id, status)
     VALUES ($1, gen_random_uuid(), $2, $3)`,
    [organizationId, petitionId, status],
  );
}

async function makeMember(own: Fixture, role: string): Promise<Ids> {
  const { email } = own.person();
  const { invitationId } = await own.ask('team.invite-member', { email, role });
  await acceptInvitation(own.api, own.client, invitationId);
  return { memberId: invitationId };
}

const RECORDS: { [name in RecordName]: Make } = {
  contact: makes('contact.create-contact', 'contactId', (own) => own.person()),
  petition: async (own) => {
    const { petitionId } = await own.ask('petition.create-petition', { ...named(own), goal: 9 });
    await own.ask('petition.publish-petition', { petitionId });
    return { petitionId };
  },
  draft: makes('petition.create-petition', 'petitionId', named),
  signature: async (own) => {
    const fields = { ...(await own.the('petition')), ...(await own.a('contact')) };
    const { petitionId, signatureId } = await own.ask('petition.add-signature', fields);
    return { petitionId, signatureId };
  },
  comment: async (own) => {
    const { petitionId } = await own.the('petition');
    const { email } = own.person();
    const details = { email, comment: own.unique() };
    return { signatureId: await signWithComment(own.api, own.client, petitionId!, details) };
  },
  invalidation: makes('petition.invalidate-signatures', 'invalidationId', aSignature),
  offlineCount: makes('petition.record-offline-signatures', 'offlineCountId', async (own) => ({
    ...(await own.the('petition')),
    count: 3,
    collectedOn: '2026-11-20',
    note: own.unique(),
  })),
  import: makes('import.create-import', 'importId', (own) => csv('email', `${own.unique()}@example.org`)),
  form: makes('form.create-form', 'formId', named),
  post: makes('post.create-post', 'postId', named),
  publishedPost: async (own) => {
    const { postId } = await own.a('post');
    await own.ask('post.publish-post', { postId });
    return { postId: postId! };
  },
  field: makes('field.create-field', 'fieldId', named),
  view: makes('view.create-view', 'viewId', (own) => ({ ...named(own), operation: 'contact.list-contacts' })),
  note: async (own) => own.ask('note.create-note', { ...(await own.a('contact')), text: own.unique() }),
  segment: makes('segment.create-segment', 'segmentId', (own) => ({
    ...named(own),
    filter: { field: 'city', op: 'is', value: 'London' },
  })),
  broadcast: makes('broadcast.create-broadcast', 'broadcastId', async (own) => ({
    ...named(own),
    content: 'Hello',
    audience: { contactIds: [(await own.a('contact')).contactId] },
  })),
  /** A broadcast that stays in `SENDING` while no background workers run. */
  sending: async (own) => {
    await setSender(own);
    const { broadcastId } = await own.a('broadcast');
    await own.ask('broadcast.send-broadcast', { broadcastId });
    return { broadcastId: broadcastId! };
  },
  image: makes('image.upload-image', 'imageId', png),
  apiKey: makes('api-key.create-api-key', 'apiKeyId', named),
  publishableKey: makes('publishable-key.create-publishable-key', 'publishableKeyId', (own) => ({
    ...named(own),
    origins: ['https://www.example.org'],
  })),
  invitation: makes('team.invite-member', 'invitationId', (own) => ({
    email: own.person().email,
    role: 'VIEWER',
  })),
  member: (own) => makeMember(own, 'VIEWER'),
  owner: (own) => makeMember(own, 'OWNER'),
  webhook: makes('webhook.create-webhook', 'webhookId', (own) => ({
    url: `https://${own.unique()}.invalid/`,
  })),
  event: async (own) => ({ eventId: (await own.ask('history.list-events'))[0].id as string }),
};

/** The input of invalidate-signatures for a new signature. */
export async function aSignature(own: Fixture): Promise<Fields> {
  const { petitionId, signatureId } = await own.a('signature');
  return { petitionId, signatureIds: [signatureId] };
}
