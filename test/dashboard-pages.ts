import { groupsOfContacts } from '../src/contacts/index.js';
import '../src/modules.js';
import { type Role, ROLES } from '../src/team/index.js';
import { type Client, type Product } from './harness.js';
import { signedIn } from './people-in.js';
import { call } from './petition-page.js';
import { picture } from './pictures.js';
import { signWithComment } from './signers.js';

/** Creates a record and returns its id. @param ids of the records earlier in the path. */
type Maker = (api: Product, client: Client, ids: Record<string, string>) => Promise<string>;

/** The roles that may open a page and send its form. All others are rejected. */
export type PageEntry = {
  see: readonly Role[];
  act?: readonly Role[];
  /** Valid input for the form. */
  form?: (client: Client) => Record<string, string> | Promise<Record<string, string>>;
  /** The uploaded file, for forms that have one. */
  file?: {
    field: string;
    name: string;
    type: string;
    content: () => string | Promise<Uint8Array<ArrayBuffer>>;
  };
  /** Records that replace those of `RECORDS`. */
  records?: Record<string, Maker>;
  /** The status of a page that has nothing to show. Default: 200. */
  shown?: number;
  /** The status of a form that does not redirect. Default: 303. */
  acted?: number;
  /** The form changes no record: it only checks, tests, or finds nothing to do. */
  isTrial?: boolean;
  /** The form deletes the record, or creates one without a page. Only the history shows it. */
  isGone?: boolean;
  /** The page exists only for users on the machine itself. */
  isHere?: boolean;
  /** The page ends with the activity of its record. */
  hasPast?: boolean;
};

const CHANGERS: readonly Role[] = ['OWNER', 'ADMIN'];
const EDITORS: readonly Role[] = ['OWNER', 'ADMIN', 'EDITOR'];
const READERS: readonly Role[] = ['OWNER', 'ADMIN', 'EDITOR', 'VIEWER'];

/** Roles that may read keys and webhooks. */
const KEEPERS: readonly Role[] = ['OWNER', 'ADMIN', 'AUDITOR'];

/** Roles that may read the history. */
const AUDITORS = KEEPERS;

/** The address of an existing contact. */
const KNOWN = 'known@example.org';

let names = 0;
export const newAddress = (): string => `person-${(names += 1)}@example.org`;
const newColour = () => `#0b6e${(names += 1).toString(16).padStart(2, '0').slice(-2)}`;
export const newName = (): string => `Name ${(names += 1)}`;

/** Every page of an organization, by its path. */
export const TABLE: Record<string, PageEntry> = {
  '': { see: ROLES },
  search: { see: ROLES },
  contacts: { see: READERS },
  'contacts/export': { see: READERS },
  'contacts/new': { see: EDITORS, act: EDITORS, form: () => ({ email: newAddress(), firstName: 'Ada' }) },
  // Without parameters, no contact is selected.
  'contacts/group': {
    see: EDITORS,
    act: EDITORS,
    isTrial: true,
    acted: 422,
    form: () => ({ addTags: newName() }),
  },
  // The same.
  'contacts/group/unsubscribe': { see: EDITORS, act: EDITORS, isTrial: true, acted: 422 },
  'contacts/group/erase': { see: EDITORS, act: EDITORS, isTrial: true, acted: 422 },
  // Without parameters, it undoes no update.
  'contacts/group/undo': { see: EDITORS, act: EDITORS, isTrial: true, acted: 422 },
  'contacts/duplicates': { see: EDITORS },
  'contacts/import': {
    see: EDITORS,
    act: EDITORS,
    file: {
      field: 'file',
      name: 'people.csv',
      type: 'text/csv',
      content: () => 'email;Vorname\nada@example.org;Ada\n',
    },
    isTrial: true,
  },
  // The import itself runs in the background.
  'contacts/import/:import': {
    see: EDITORS,
    act: EDITORS,
    form: () => ({ 'column-0': 'email' }),
    isTrial: true,
  },
  // Contacts are deleted in the background.
  'contacts/import/:import/undo': {
    see: EDITORS,
    act: EDITORS,
    isTrial: true,
    records: {
      import: async (api, client) => {
        const path = '/v1/import.create-import?subscribed=true';
        const headers = { 'Content-Type': 'text/csv' };
        const { body } = await client.request('POST', path, `email\n${newAddress()}\n`, headers);
        const { importId } = body.data;
        await api.database.source.query(
          `UPDATE contact_imports SET status = 'DONE', finished_at = clock_timestamp() WHERE id = $1`,
          [importId],
        );
        return importId;
      },
    },
  },
  // No line failed.
  'contacts/import/:import/wrong-lines': { see: EDITORS, shown: 404 },
  'contacts/:contact': { see: READERS, hasPast: true },
  'contacts/:contact/edit': {
    see: EDITORS,
    act: EDITORS,
    form: () => ({ email: newAddress(), city: 'Bremen' }),
  },
  'contacts/:contact/export': { see: EDITORS },
  'contacts/:contact/notes': {
    see: READERS,
    act: EDITORS,
    form: () => ({ text: newName() }),
  },
  'contacts/:contact/notes/:note': {
    see: EDITORS,
    act: EDITORS,
    form: () => ({ text: newName() }),
  },
  'contacts/:contact/notes/:note/delete': { isGone: true, see: EDITORS, act: EDITORS },
  'contacts/:contact/merge': { see: EDITORS, act: EDITORS, isTrial: true, form: () => ({ email: KNOWN }) },
  'contacts/:contact/erase': { isGone: true, see: EDITORS, act: EDITORS },
  ...Object.fromEntries(
    groupsOfContacts().flatMap(({ kind }) => Object.entries(pagesOfGroups(`${kind}s`, kind))),
  ),
  fields: { see: READERS },
  'fields/export': { see: READERS },
  'fields/new': { see: EDITORS, act: EDITORS, form: () => ({ name: newName(), type: 'TEXT' }) },
  'fields/:field': { see: READERS, hasPast: true },
  'fields/:field/edit': { see: EDITORS, act: EDITORS, form: () => ({ name: newName() }) },
  'fields/:field/delete': { isGone: true, see: EDITORS, act: EDITORS },
  views: { see: READERS },
  'views/export': { see: READERS },
  'views/new': {
    see: EDITORS,
    act: EDITORS,
    form: () => ({ name: newName(), operation: 'contact.list-contacts' }),
  },
  'views/:view': { see: READERS, hasPast: true },
  'views/:view/edit': { see: EDITORS, act: EDITORS, form: () => ({ name: newName() }) },
  'views/:view/delete': { isGone: true, see: EDITORS, act: EDITORS },
  segments: { see: READERS },
  'segments/export': { see: READERS },
  'segments/new': {
    see: EDITORS,
    act: EDITORS,
    form: () => ({ name: newName(), match: 'any', 'subject-0': 'city', 'op-0': 'is', 'value-0': 'Bonn' }),
  },
  'segments/:segment': { see: READERS, hasPast: true },
  'segments/:segment/edit': {
    see: EDITORS,
    act: EDITORS,
    form: () => ({ name: newName(), 'subject-0': 'phone', 'op-0': 'isNotSet', 'value-0': '' }),
  },
  'segments/:segment/delete': { isGone: true, see: EDITORS, act: EDITORS },
  petitions: { see: READERS },
  'petitions/export': { see: READERS },
  'petitions/new': { see: EDITORS, act: EDITORS, form: () => ({ name: newName(), goal: '10' }) },
  'petitions/:petition': { see: READERS, hasPast: true },
  'petitions/:petition/edit': {
    see: EDITORS,
    act: EDITORS,
    form: () => ({ title: newName(), goal: '20', content: '**Why**' }),
  },
  'petitions/:petition/duplicate': { see: EDITORS, act: EDITORS, form: () => ({ name: newName() }) },
  'petitions/:petition/goal': { see: EDITORS, act: EDITORS, form: () => ({ goal: '77', autoGoal: 'true' }) },
  'petitions/:petition/outcome': {
    see: EDITORS,
    act: EDITORS,
    form: () => ({ outcome: 'WON', outcomeText: newName() }),
    records: {
      petition: async (api, client) => {
        const petitionId = await RECORDS.petition!(api, client, {});
        await call(client, 'petition.publish-petition', { petitionId });
        await call(client, 'petition.close-petition', { petitionId });
        return petitionId;
      },
    },
  },
  'petitions/:petition/thanks': {
    see: EDITORS,
    act: EDITORS,
    form: () => ({ 'thankYou.title': newName() }),
  },
  'petitions/:petition/thanks/preview': { see: READERS, records: { petition: thankingPetition } },
  'petitions/:petition/thanks/mail': { see: READERS, records: { petition: thankingPetition } },
  'petitions/:petition/thanks/retry-failed': { see: EDITORS, act: EDITORS, isTrial: true },
  'petitions/:petition/thanks/retry-in-doubt': { see: EDITORS, act: EDITORS, isTrial: true },
  'petitions/:petition/thanks/test': {
    see: EDITORS,
    act: EDITORS,
    form: () => ({ to: newAddress() }),
    records: { petition: thankingPetition },
    isTrial: true,
  },
  'petitions/:petition/translations': {
    see: EDITORS,
    act: EDITORS,
    form: () => ({ language: 'fr' }),
    isTrial: true,
  },
  // Without a language, there is nothing to translate into, or to delete.
  'petitions/:petition/translations/edit': {
    see: EDITORS,
    act: EDITORS,
    shown: 404,
    acted: 404,
    isTrial: true,
  },
  'petitions/:petition/translations/delete': {
    see: EDITORS,
    act: EDITORS,
    shown: 404,
    acted: 404,
    isTrial: true,
  },
  'petitions/:petition/publish': { see: EDITORS, act: EDITORS },
  'petitions/:petition/close': { see: EDITORS, act: EDITORS, records: { petition: publishedPetition } },
  'petitions/:petition/delete': { isGone: true, see: EDITORS, act: EDITORS },
  'petitions/:petition/signatures': { see: READERS },
  'petitions/:petition/signatures/export': { see: READERS },
  'petitions/:petition/signatures/:signature/invalidate': { see: EDITORS, act: EDITORS },
  'petitions/:petition/signatures/:signature/comment': {
    isGone: true,
    see: EDITORS,
    act: EDITORS,
    form: () => ({ review: 'hide' }),
    records: { signature: commentedSignature },
  },
  'petitions/:petition/invalidations': { see: READERS },
  'petitions/:petition/invalidations/export': { see: READERS },
  'petitions/:petition/paper': { see: READERS },
  'petitions/:petition/paper/export': { see: READERS },
  'petitions/:petition/paper/new': {
    see: EDITORS,
    act: EDITORS,
    form: () => ({ count: '3', collectedOn: '2026-11-20', note: newName() }),
  },
  'petitions/:petition/paper/:offline/withdraw': { see: EDITORS, act: EDITORS },
  'petitions/:petition/delivery': { see: READERS },
  'petitions/:petition/delivery/document': { see: READERS },
  'petitions/:petition/delivery/certificate': { see: READERS },
  'petitions/:petition/invalidate': {
    see: EDITORS,
    act: EDITORS,
    form: () => ({ emailDomain: 'spam.example' }),
    acted: 200,
    isTrial: true,
  },
  'petitions/:petition/invalidations/:invalidation': { see: READERS, act: EDITORS, hasPast: true },
  forms: { see: READERS },
  'forms/export': { see: READERS },
  'forms/new': { see: EDITORS, act: EDITORS, form: () => ({ name: newName() }) },
  'forms/:form': { see: READERS, hasPast: true },
  'forms/:form/edit': { see: EDITORS, act: EDITORS, form: () => ({ title: newName() }) },
  'forms/:form/delete': { isGone: true, see: EDITORS, act: EDITORS },
  posts: { see: READERS },
  'posts/export': { see: READERS },
  'posts/new': { see: EDITORS, act: EDITORS, form: () => ({ name: newName() }) },
  'posts/:post': { see: READERS, hasPast: true },
  'posts/:post/edit': { see: EDITORS, act: EDITORS, form: () => ({ title: newName() }) },
  'posts/:post/publish': { see: EDITORS, act: EDITORS },
  'posts/:post/email': {
    see: EDITORS,
    act: EDITORS,
    records: {
      post: async (api, client) => {
        const petitionId = await RECORDS.petition!(api, client, {});
        return (await call(client, 'post.create-post', { name: newName(), petitionId })).postId;
      },
    },
  },
  'posts/:post/archive': {
    see: EDITORS,
    act: EDITORS,
    records: {
      post: async (api, client) => {
        const postId = await RECORDS.post!(api, client, {});
        await call(client, 'post.publish-post', { postId });
        return postId;
      },
    },
  },
  'posts/:post/delete': { isGone: true, see: EDITORS, act: EDITORS },
  images: { see: READERS },
  'images/export': { see: READERS },
  'images/new': {
    see: EDITORS,
    act: EDITORS,
    form: () => ({ name: newName() }),
    file: { field: 'file', name: 'dot.png', type: 'image/png', content: () => picture() },
  },
  'images/:image': {
    see: READERS,
    act: EDITORS,
    form: () => ({ name: newName(), alt: 'A dot' }),
    hasPast: true,
  },
  'images/:image/delete': { isGone: true, see: EDITORS, act: EDITORS },
  broadcasts: { see: READERS },
  'broadcasts/export': { see: READERS },
  'broadcasts/new': {
    see: EDITORS,
    act: EDITORS,
    form: () => ({ name: newName(), subject: 'News', content: 'We won.' }),
  },
  'broadcasts/preview': {
    see: EDITORS,
    act: EDITORS,
    shown: 404,
    acted: 200,
    isTrial: true,
    form: () => ({ subject: 'News', content: 'We won.' }),
  },
  'broadcasts/:broadcast': { see: READERS, hasPast: true },
  'broadcasts/:broadcast/edit': {
    see: EDITORS,
    act: EDITORS,
    form: () => ({ name: newName(), subject: 'Other news', content: 'We lost.', country: 'DE' }),
  },
  'broadcasts/:broadcast/preview': { see: READERS },
  'broadcasts/:broadcast/mail': { see: READERS },
  'broadcasts/:broadcast/audience': { see: READERS },
  'broadcasts/:broadcast/test': {
    see: EDITORS,
    act: EDITORS,
    form: () => ({ to: newAddress() }),
    isTrial: true,
  },
  'broadcasts/:broadcast/send': { see: EDITORS, act: EDITORS },
  'broadcasts/:broadcast/pause': { see: EDITORS, act: EDITORS, records: { broadcast: sending } },
  'broadcasts/:broadcast/resume': { see: EDITORS, act: EDITORS, records: { broadcast: pausedBroadcast } },
  'broadcasts/:broadcast/cancel': { see: EDITORS, act: EDITORS, records: { broadcast: sending } },
  'broadcasts/:broadcast/recipients': { see: READERS },
  'broadcasts/:broadcast/recipients/export': { see: READERS },
  'broadcasts/:broadcast/retry-failed': {
    see: EDITORS,
    act: EDITORS,
    records: { broadcast: sending },
    isTrial: true,
  },
  'broadcasts/:broadcast/retry-in-doubt': {
    see: EDITORS,
    act: EDITORS,
    records: { broadcast: sending },
    isTrial: true,
  },
  'broadcasts/:broadcast/delete': { isGone: true, see: EDITORS, act: EDITORS },
  suppressions: { see: READERS },
  'suppressions/export': { see: READERS },
  'suppressions/new': { isGone: true, see: EDITORS, act: EDITORS, form: () => ({ email: newAddress() }) },
  'suppressions/lift': {
    isGone: true,
    see: EDITORS,
    act: EDITORS,
    form: async (client) => {
      const email = newAddress();
      await call(client, 'suppression.create-suppression', { email });
      return { email };
    },
  },
  organization: { see: ROLES, hasPast: true },
  'organization/who': {
    see: CHANGERS,
    act: CHANGERS,
    form: () => ({ name: newName(), language: 'en' }),
  },
  'organization/mails': {
    see: CHANGERS,
    act: CHANGERS,
    form: () => ({ 'mailFrom.address': 'office@example.org', postalAddress: newName() }),
  },
  'organization/pages': { see: CHANGERS, act: CHANGERS, form: () => ({ colour: newColour() }) },
  keys: { see: KEEPERS },
  'keys/export': { see: KEEPERS },
  'keys/new': {
    see: CHANGERS,
    act: CHANGERS,
    form: () => ({ name: newName(), scopes: 'contact:read', rateLimit: '10' }),
    acted: 200,
  },
  'keys/:key': { see: KEEPERS, hasPast: true },
  'keys/:key/rotate': { see: CHANGERS, act: CHANGERS, form: () => ({ overlapSeconds: '0' }), acted: 200 },
  'keys/:key/revoke': { see: CHANGERS, act: CHANGERS },
  'publishable-keys': { see: KEEPERS },
  'publishable-keys/export': { see: KEEPERS },
  'publishable-keys/new': {
    see: CHANGERS,
    act: CHANGERS,
    form: () => ({ name: newName(), origins: 'https://www.example.org/about' }),
  },
  'publishable-keys/:publishable': { see: KEEPERS, hasPast: true },
  'publishable-keys/:publishable/edit': { see: CHANGERS, act: CHANGERS, form: () => ({ name: newName() }) },
  'publishable-keys/:publishable/revoke': { isGone: true, see: CHANGERS, act: CHANGERS },
  webhooks: { see: KEEPERS },
  'webhooks/export': { see: KEEPERS },
  'webhooks/new': {
    see: CHANGERS,
    act: CHANGERS,
    form: () => ({ url: `https://webhooks.invalid/${newName()}` }),
    acted: 200,
  },
  'webhooks/:webhook': { see: KEEPERS, hasPast: true },
  'webhooks/:webhook/edit': {
    see: CHANGERS,
    act: CHANGERS,
    form: () => ({ url: 'https://webhooks.invalid/other', eventTypes: 'PetitionSigned' }),
  },
  'webhooks/:webhook/pause': { see: CHANGERS, act: CHANGERS },
  'webhooks/:webhook/resume': { see: CHANGERS, act: CHANGERS, records: { webhook: pausedWebhook } },
  // Nothing listens at the webhook's address.
  'webhooks/:webhook/test': { see: CHANGERS, act: CHANGERS, acted: 422, isTrial: true },
  'webhooks/:webhook/rotate': { see: CHANGERS, act: CHANGERS, acted: 200 },
  'webhooks/:webhook/replay': { see: CHANGERS, act: CHANGERS, form: () => ({ from: '2026-01-01T00:00' }) },
  'webhooks/:webhook/delete': { isGone: true, see: CHANGERS, act: CHANGERS },
  'webhooks/:webhook/deliveries': { see: KEEPERS },
  'webhooks/:webhook/deliveries/export': { see: KEEPERS },
  'webhooks/:webhook/deliveries/:event/again': { see: CHANGERS, act: CHANGERS },
  outbox: { see: ['OWNER'], isHere: true },
  'outbox/export': { see: ['OWNER'], isHere: true },
  'outbox/:mail': { see: ['OWNER'], isHere: true },
  'outbox/:mail/mail': { see: ['OWNER'], isHere: true },
  history: { see: AUDITORS },
  'history/export': { see: AUDITORS },
  'history/events/:event': { see: AUDITORS },
  'history/events/:event/proof': { see: AUDITORS },
  'history/events/:event/tlog-proof': { see: AUDITORS },
  'history/checkpoints': { see: AUDITORS },
  'history/checkpoint': { see: AUDITORS },
  // No witness is configured.
  'history/checkpoint/witnessed': { see: AUDITORS, shown: 404 },
  'history/checkpoint/parts': { see: AUDITORS },
  'history/checkpoint/tlog-proof': { see: AUDITORS },
  'history/checkpoint/key': { see: AUDITORS },
  'history/checkpoint/consistency': { see: AUDITORS },
  'history/verify': { see: AUDITORS },
  workings: { see: AUDITORS },
  styleguide: { see: ['OWNER'] },
  team: { see: ROLES },
  'team/export': { see: ROLES },
  'team/invitations': { see: ROLES },
  'team/invitations/export': { see: ROLES },
  'team/invite': {
    isGone: true,
    see: CHANGERS,
    act: CHANGERS,
    form: () => ({ email: newAddress(), role: 'VIEWER' }),
  },
  'team/:member': { see: CHANGERS, act: CHANGERS, form: () => ({ role: 'EDITOR' }), hasPast: true },
  notifications: { see: READERS, act: READERS, form: () => ({ weeklySummary: 'true' }) },
  'team/:member/remove': { isGone: true, see: CHANGERS, act: CHANGERS },
  'team/invitations/:invitation': { isGone: true, see: CHANGERS, act: CHANGERS },
};

function pagesOfGroups(section: string, param: string): Record<string, PageEntry> {
  const form = () => ({ name: newName() });
  return {
    [section]: { see: READERS },
    [`${section}/export`]: { see: READERS },
    [`${section}/new`]: { see: EDITORS, act: EDITORS, form },
    [`${section}/:${param}`]: { see: READERS, act: EDITORS, form: () => ({ email: KNOWN }), hasPast: true },
    [`${section}/:${param}/edit`]: { see: EDITORS, act: EDITORS, form },
    [`${section}/:${param}/delete`]: { isGone: true, see: EDITORS, act: EDITORS },
    [`${section}/:${param}/contacts/:contact`]: {
      see: READERS,
      act: EDITORS,
      records: {
        contact: async (api, client, ids) => {
          const contactId = await RECORDS.contact!(api, client, {});
          const group = { [`${param}Id`]: ids[param] };
          await call(client, `${param}.add-contacts`, { ...group, contactIds: [contactId] });
          return contactId;
        },
      },
    },
  };
}

/** A broadcast that can be sent. */
async function draft(api: Product, client: Client): Promise<string> {
  const petitionId = await publishedPetition(api, client);
  const contact = { email: newAddress(), subscribed: true };
  await call(client, 'petition.add-signature', { petitionId, contact });
  await call(client, 'organization.update-organization', {
    mailFrom: { address: 'office@example.org' },
    postalAddress: '1 Quay',
  });
  const { broadcastId } = await call(client, 'broadcast.create-broadcast', {
    name: newName(),
    subject: 'News',
    content: 'We won.',
    audience: { petitionIds: [petitionId] },
  });
  return broadcastId as string;
}

/** A broadcast that stays in `SENDING`, because no background workers run in these tests. */
async function sending(api: Product, client: Client): Promise<string> {
  const broadcastId = await draft(api, client);
  await call(client, 'broadcast.send-broadcast', { broadcastId });
  return broadcastId;
}

async function pausedBroadcast(api: Product, client: Client): Promise<string> {
  const broadcastId = await sending(api, client);
  await call(client, 'broadcast.pause-broadcast', { broadcastId });
  return broadcastId;
}

async function pausedWebhook(api: Product, client: Client, ids: Record<string, string>): Promise<string> {
  const webhookId = await RECORDS.webhook!(api, client, ids);
  await call(client, 'webhook.pause-webhook', { webhookId });
  return webhookId;
}

/** A petition with a thank-you email, in an organization that can send it. */
/** A signature with a public comment. */
async function commentedSignature(
  api: Product,
  client: Client,
  { petition }: Record<string, string>,
): Promise<string> {
  await call(client, 'petition.publish-petition', { petitionId: petition });
  return signWithComment(api, client, petition!, { email: newAddress(), comment: newName() });
}

async function thankingPetition(api: Product, client: Client): Promise<string> {
  const petitionId = await RECORDS.petition!(api, client, {});
  await call(client, 'petition.update-petition', {
    petitionId,
    thankYouMail: { subject: 'Thank you', content: 'We won.' },
  });
  await call(client, 'organization.update-organization', { mailFrom: { address: 'office@example.org' } });
  return petitionId;
}

async function publishedPetition(api: Product, client: Client): Promise<string> {
  const petitionId = await RECORDS.petition!(api, client, {});
  await call(client, 'petition.publish-petition', { petitionId });
  return petitionId;
}

/** Paths that return a file or an email instead of a page. */
export const isFile = (path: string) =>
  /(^|\/)(export|mail|document|certificate)$|^history\/(checkpoint|events\/:event\/.+)(\/|$)/.test(path);

/** Creates a record for each id in a path, on which every form can be tried. */
export const RECORDS: Record<string, Maker> = {
  contact: async (_, client) => {
    await call(client, 'contact.create-contact', {
      organizationId: client.organizationId,
      email: KNOWN,
    });
    const contact = await call(client, 'contact.create-contact', {
      organizationId: client.organizationId,
      email: newAddress(),
    });
    return contact.contactId as string;
  },
  note: async (_, client, { contact: contactId }) =>
    (await call(client, 'note.create-note', { contactId, text: newName() })).noteId as string,
  import: async (api, client) => {
    const editor = await signedIn(api, client, 'EDITOR', newAddress());
    const file = { field: 'file', name: 'people.csv', type: 'text/csv', content: `email\n${newAddress()}\n` };
    const { location } = await editor.upload(`/dashboard/${client.organizationId}/contacts/import`, file);
    return location!.split('/').at(-1)!;
  },
  mail: async (api, { organizationId }) => {
    const { detail } = await api.sendMail({
      organizationId,
      from: { name: 'Rivers', address: 'office@example.org' },
      replyTo: null,
      to: newAddress(),
      subject: newName(),
      text: 'We won.',
      html: '<p>We won.</p>',
      messageId: `${newAddress()}`,
      automatic: true,
    });
    return /([0-9a-f-]{36})\.eml$/.exec(detail)![1]!;
  },
  ...Object.fromEntries(
    groupsOfContacts().map(({ kind, resource }): [string, Maker] => [
      kind,
      async (api, client) => {
        await RECORDS.contact!(api, client, {});
        return (await call(client, `${kind}.create-${kind}`, { name: newName() }))[
          resource.idField
        ] as string;
      },
    ]),
  ),
  field: async (_, client) =>
    (await call(client, 'field.create-field', { name: newName() })).fieldId as string,
  view: async (_, client) => {
    const fields = { name: newName(), operation: 'contact.list-contacts', parameters: { city: 'Bonn' } };
    return (await call(client, 'view.create-view', fields)).viewId as string;
  },
  segment: async (_, client) => {
    await RECORDS.contact!(_, client, {});
    const filter = { all: [{ field: 'city', op: 'isSet' }] };
    return (await call(client, 'segment.create-segment', { name: newName(), filter })).segmentId as string;
  },
  petition: async (_, client) =>
    (await call(client, 'petition.create-petition', { name: newName() })).petitionId as string,
  signature: async (_, client, { petition: petitionId }) => {
    await call(client, 'petition.publish-petition', { petitionId });
    const contact = { email: newAddress() };
    return (await call(client, 'petition.add-signature', { petitionId, contact })).signatureId as string;
  },
  offline: async (_, client, { petition: petitionId }) => {
    const fields = { petitionId, count: 3, collectedOn: '2026-11-20', note: newName() };
    return (await call(client, 'petition.record-offline-signatures', fields)).offlineCountId as string;
  },
  invalidation: async (_, client, { petition: petitionId }) => {
    await call(client, 'petition.publish-petition', { petitionId });
    const contact = { email: 'somebody@spam.example' };
    await call(client, 'petition.add-signature', { petitionId, contact });
    const condition = { petitionId, emailDomain: 'spam.example' };
    return (await call(client, 'petition.invalidate-signatures', condition)).invalidationId as string;
  },
  form: async (_, client) => (await call(client, 'form.create-form', { name: newName() })).formId as string,
  post: async (_, client) => (await call(client, 'post.create-post', { name: newName() })).postId as string,
  image: async (_, client) => {
    const path = `/v1/image.upload-image?name=${encodeURIComponent(newName())}`;
    const { body } = await client.request('POST', path, await picture(), {
      'Content-Type': 'image/png',
    });
    return body.data.imageId as string;
  },
  broadcast: draft,
  key: async (_, client) =>
    (await call(client, 'api-key.create-api-key', { name: newName(), scopes: ['contact:read'] }))
      .apiKeyId as string,
  publishable: async (_, client) => {
    const fields = { name: newName(), origins: ['https://www.example.org'] };
    return (await call(client, 'publishable-key.create-publishable-key', fields)).publishableKeyId as string;
  },
  webhook: async (_, client) => {
    const url = `https://webhooks.invalid/${newName().replace(' ', '-')}`;
    return (await call(client, 'webhook.create-webhook', { url })).webhookId as string;
  },
  event: async (_, client) => {
    const { data } = (await client.get('history.list-events', { limit: '1' })).body;
    return data[0].id as string;
  },
  member: async (api, client) => {
    const email = newAddress();
    await signedIn(api, client, 'VIEWER', email);
    const { data } = (await client.get('team.list-members', { limit: '1' })).body;
    return data[0].id as string;
  },
  invitation: async (_, client) => {
    const invited = await call(client, 'team.invite-member', { email: newAddress(), role: 'VIEWER' });
    return invited.invitationId as string;
  },
};

/** A field of a form and its value. `isChosen`: a browser would send it. */
export type Field = { name: string; type: string; value: string; isChosen: boolean };

/** The fields of a page's form, without its file. */
export function fieldsIn(page: string): Field[] {
  // Only scripts use templates, such as the editor's dialogs, which are forms.
  const shown = page.replaceAll(/<template[^]*?<\/template>/g, '');
  const [, form = ''] = /<form method="post"[^>]* novalidate>([^]*?)<\/form>/.exec(shown) ?? [];
  const fields: Field[] = [];
  const parts = /<input([^>]*)>|<textarea([^>]*)>\n?([^]*?)<\/textarea>|<select([^>]*)>([^]*?)<\/select>/g;
  for (const [, input, area, text = '', select, options = ''] of form.matchAll(parts)) {
    const attributes = input ?? area ?? select!;
    const [name, type = 'text'] = [attributeOf(attributes, 'name')!, attributeOf(attributes, 'type')];
    if (type === 'file') continue;
    if (area !== undefined) fields.push({ name, type: 'area', value: decoded(text), isChosen: true });
    else if (select !== undefined)
      for (const [, option] of options.matchAll(/<option([^>]*)>/g))
        fields.push({
          name,
          type: 'select',
          value: attributeOf(option!, 'value')!,
          isChosen: option!.includes(' selected'),
        });
    else
      fields.push({
        name,
        type,
        value: attributeOf(attributes, 'value') ?? '',
        isChosen: !/^(radio|checkbox)$/.test(type) || attributes.includes(' checked'),
      });
  }
  return fields;
}

function attributeOf(attributes: string, name: string): string | undefined {
  const [, value] = new RegExp(` ${name}="([^"]*)"`).exec(attributes) ?? [];
  return value === undefined ? undefined : decoded(value);
}

const decoded = (text: string) =>
  text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');
