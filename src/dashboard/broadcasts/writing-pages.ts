import { html, type Html } from '#libs/pages';
import { isId, RpcError } from '#libs/rpc';
import { CONTACT_FIELDS, ORGANIZATION_FIELDS, PETITION_FIELDS, Places } from '../../broadcasts/index.js';
import { ContactsByIds } from '../../contacts/index.js';
import { choicesOf, type ContactRecord, nameOf } from '../contacts/pages.js';
import { type PageDefinition } from '../page.js';
import {
  AreaField,
  ButtonLink,
  type Choice,
  ChoiceField,
  FormOf,
  SectionOf,
  Table,
  TextField,
} from '../parts.js';
import { type Visit } from '../visit.js';
import { type Words } from '../words/index.js';
import { type Audience, type BroadcastRecord, broadcastOf, faultWithin, toBroadcast } from './broadcast.js';

type Preview = { subject: string; html: string; text: string };

/** An email runs no scripts, loads nothing from other servers, and is framed only by this site. */
export const MAIL_HEADERS = {
  'Content-Security-Policy':
    "default-src 'none'; img-src 'self'; style-src 'unsafe-inline'; frame-ancestors 'self'; sandbox",
  'X-Frame-Options': 'SAMEORIGIN',
};

/** Contacts offered for the preview. */
const MOST_READERS = 25;
/** Limits of the search for these contacts: lists and petitions, and contacts chosen individually. */
const MOST_SOURCES = 10;
const MOST_NAMED = 100;

export const writingPages: PageDefinition[] = [
  {
    path: 'broadcasts/new',
    needs: 'broadcast:write',
    show: async (visit) => {
      const { broadcasts } = visit.words;
      return visit.page({
        section: 'broadcasts',
        back: { href: visit.path('broadcasts'), text: broadcasts.title },
        title: broadcasts.add,
        content: await WritingOf(visit, { like: await likeOf(visit) }),
      });
    },
    act: async (visit) => {
      const like = await likeOf(visit);
      const { broadcastId } = await visit.run<{ broadcastId: string }>('broadcast.create-broadcast', {
        ...(like?.format === 'HTML' ? { format: like.format, content: like.content } : {}),
        ...typedIn(visit, like?.audience),
      });
      return { to: `broadcasts/${broadcastId}`, done: 'broadcasts.created' };
    },
  },
  {
    path: 'broadcasts/:broadcast/edit',
    needs: 'broadcast:write',
    show: async (visit) => {
      const broadcast = await broadcastOf(visit);
      return visit.page({
        section: 'broadcasts',
        back: toBroadcast(visit, broadcast),
        title: `${visit.words.broadcasts.edit}: ${broadcast.name}`,
        content: await WritingOf(visit, { like: broadcast, of: broadcast }),
      });
    },
    act: async (visit) => {
      const broadcast = await broadcastOf(visit);
      visit.requireSame(broadcast);
      const { audience } = broadcast;
      const broadcastId = visit.params.broadcast!;
      await visit.run('broadcast.update-broadcast', { broadcastId, ...typedIn(visit, audience) });
      return { to: `broadcasts/${broadcastId}`, done: 'broadcasts.changed' };
    },
  },
  {
    path: 'broadcasts/:broadcast/preview',
    needs: 'broadcast:read',
    show: async (visit) => {
      const { broadcasts } = visit.words;
      const broadcast = await broadcastOf(visit);
      const contactId = visit.query('contactId');
      const shown = await shownOf(visit);
      if ('why' in shown)
        return visit.page({
          section: 'broadcasts',
          back: toBroadcast(visit, broadcast),
          title: `${broadcasts.preview}: ${broadcast.name}`,
          content: html`<div class="faults" role="alert">${shown.why.map((why) => html`<p>${why}</p>`)}</div>
            ${visit.may('broadcast:write') ? html`<p>${ButtonLink(visit, `broadcasts/${broadcast.id}/edit`, broadcasts.edit)}</p>` : null}`,
        });
      const { subject, text } = shown;
      const query = contactId === undefined ? '' : `?contactId=${encodeURIComponent(contactId)}`;
      return visit.page({
        section: 'broadcasts',
        back: toBroadcast(visit, broadcast),
        title: `${broadcasts.preview}: ${broadcast.name}`,
        content: html`${await ReaderOf(visit, broadcast)}
          <p class="lead">${subject}</p>
          <iframe
            sandbox
            title="${broadcasts.frame}"
            src="${visit.path(`broadcasts/${broadcast.id}/mail${query}`)}"
          ></iframe>
          ${SectionOf(broadcasts.previewText, html`<pre class="code" tabindex="0">${text}</pre>`)}`,
      });
    },
  },
  {
    path: 'broadcasts/:broadcast/mail',
    needs: 'broadcast:read',
    show: async (visit) => {
      const mail = await previewOf(visit);
      return {
        status: 200,
        body: Buffer.from(mail.html),
        language: visit.words.locale,
        headers: MAIL_HEADERS,
      };
    },
  },
];

/** The broadcast to duplicate, if the address names one. @throws RpcError NOT_FOUND */
async function likeOf(visit: Visit): Promise<BroadcastRecord | undefined> {
  const like = visit.query('like');
  return like === undefined ? undefined : broadcastOf(visit, like);
}

function previewOf(visit: Visit): Promise<Preview> {
  return visit.run<Preview>('broadcast.preview-broadcast', {
    broadcastId: visit.params.broadcast,
    contactId: visit.query('contactId'),
  });
}

/** The preview, or the errors that prevent it. */
async function shownOf(visit: Visit): Promise<Preview | { why: string[] }> {
  try {
    return await previewOf(visit);
  } catch (error) {
    if (!(error instanceof RpcError) || error.code !== 'CONFLICT') throw error;
    const { issues = [] } = error.details;
    const { words } = visit;
    return { why: issues.map(({ path, message }) => faultWithin(words, path, words.faultOf(message))) };
  }
}

/** The form that chooses a recipient for the preview, because each recipient's email differs. */
async function ReaderOf(visit: Visit, broadcast: BroadcastRecord): Promise<Html | null> {
  if (!visit.may('contact:read')) return null;
  const { words } = visit;
  const { previewAs, previewSearch, anybody } = words.broadcasts;
  const chosen = visit.query('contactId');
  const [found, [own]] = await Promise.all([
    readersOf(visit, broadcast.audience),
    chosen === undefined ? [] : contactsOf(visit, [chosen]),
  ]);
  const readers = own && !found.some(({ id }) => id === own.id) ? [own, ...found] : found;
  return html`<form class="find" method="get">
    <div class="field">
      <label for="q">${previewSearch}</label>
      <input id="q" name="q" type="search" autocomplete="off" maxlength="200" value="${visit.query('q') ?? ''}" />
    </div>
    <div class="field">
      <label for="contactId">${previewAs}</label>
      <select id="contactId" name="contactId">
        <option value="">${anybody}</option>
        ${readers.map(
          (contact) =>
            html`<option value="${contact.id}"${contact.id === chosen ? html` selected` : null}>${nameAndAddress(contact)}</option>`,
        )}
      </select>
    </div>
    <button class="button plain">${words.posts.preview}</button>
  </form>`;
}

/** Includes the address, because names are not unique. */
function nameAndAddress(contact: ContactRecord): string {
  const name = nameOf(contact);
  return name === contact.email ? name : `${name}, ${contact.email}`;
}

/**
 * Some recipients that match the search; without an audience, any contacts. May include contacts whom the audience excludes, because
 * `contact.list-contacts` has no such filter.
 */
async function readersOf(visit: Visit, audience: Audience): Promise<ContactRecord[]> {
  const { listIds = [], petitionIds = [], contactIds = [], filter = {} } = audience;
  const q = visit.query('q');
  const lists = visit.may('list:read') ? listIds.map((listId) => ({ listId })) : [];
  const petitions = visit.may('petition:read') ? petitionIds.map((petitionId) => ({ petitionId })) : [];
  const isOfAll = listIds.length + petitionIds.length + contactIds.length === 0;
  const sources = isOfAll ? [{}] : [...lists, ...petitions].slice(0, MOST_SOURCES);
  const listed = await Promise.all(sources.map((source) => listReaders(visit, { q, ...filter, ...source })));
  const named = await contactsOf(visit, contactIds.slice(0, MOST_NAMED));
  const meant = named.filter((contact) => isMeant(contact, filter, q));
  const byId = new Map([...listed.flat(), ...meant].map((contact) => [contact.id, contact]));
  return [...byId.values()].slice(0, MOST_READERS);
}

async function listReaders(visit: Visit, chosenBy: Record<string, unknown>): Promise<ContactRecord[]> {
  try {
    const { records } = await visit.run<{ records: ContactRecord[] }>('contact.list-contacts', {
      limit: MOST_READERS,
      subscribed: 'true',
      ...chosenBy,
    });
    return records;
  } catch (error) {
    // A deleted list or petition has no contacts.
    if (error instanceof RpcError && error.code === 'NOT_FOUND') return [];
    throw error;
  }
}

async function contactsOf(visit: Visit, contactIds: readonly string[]): Promise<ContactRecord[]> {
  const found = await visit.find(ContactsByIds).find(visit.organizationId, contactIds.filter(isId));
  return [...found.values()] as unknown as ContactRecord[];
}

/** Applies the same filters as `contact.list-contacts`. */
function isMeant(contact: ContactRecord, filter: NonNullable<Audience['filter']>, q = ''): boolean {
  const places = Object.entries(filter) as [keyof typeof filter, string][];
  return (
    contact.subscribed &&
    places.every(([name, place]) => contact[name] === place) &&
    nameAndAddress(contact).toLowerCase().includes(q.trim().toLowerCase())
  );
}

/** Countries and cities come from contacts, so they require `contact:read`. */
async function placesOf(visit: Visit): Promise<{ country: string[]; city: string[] }> {
  if (!visit.may('contact:read')) return { country: [], city: [] };
  const places = visit.find(Places);
  const [country, city] = await Promise.all([
    places.countries(visit.organizationId),
    places.cities(visit.organizationId),
  ]);
  return { country, city };
}

/** @param like initial values of the fields. @param of the broadcast to edit; undefined creates a new one. */
async function WritingOf(
  visit: Visit,
  { like, of }: { like?: BroadcastRecord | undefined; of?: BroadcastRecord },
): Promise<Html> {
  const { fields, save, saveDraft } = visit.words.broadcasts;
  const audience = like?.audience;
  const { listIds = [], excludeListIds = [], petitionIds = [], excludePetitionIds = [] } = audience ?? {};
  const lists = await choicesWith(visit, 'list', [...listIds, ...excludeListIds]);
  const petitions = await choicesWith(visit, 'petition', [...petitionIds, ...excludePetitionIds]);
  const places = await placesOf(visit);
  const choice = (
    name: Exclude<keyof Audience, 'filter'>,
    label: string,
    choices: { value: string; text: string }[],
  ) =>
    choices.length === 0
      ? null
      : ChoiceField(visit, {
          name,
          label,
          choices,
          isMany: true,
          values: audience?.[name] ?? [],
        });
  const written = [
    TextField(visit, {
      name: 'name',
      label: fields.name,
      hint: fields.nameHint,
      value: like?.name,
      max: 200,
    }),
    TextField(visit, { name: 'subject', label: fields.subject, value: like?.subject, max: 200 }),
    TextField(visit, {
      name: 'preheader',
      label: fields.preheader,
      hint: fields.preheaderHint,
      value: like?.preheader,
      isOptional: true,
    }),
    like?.format === 'HTML'
      ? html`<p class="hint">${fields.html}</p>`
      : AreaField(visit, {
          name: 'content',
          label: fields.content,
          hint: fields.contentHint,
          value: like?.content,
          isLong: true,
        }),
    MergeFields(visit.words),
    lists.length + petitions.length === 0 ? html`<p class="hint">${fields.nobody}</p>` : null,
    choice('listIds', fields.lists, lists),
    choice('petitionIds', fields.petitions, petitions),
    choice('excludeListIds', fields.excludeLists, lists),
    choice('excludePetitionIds', fields.excludePetitions, petitions),
    ...(['country', 'city'] as const).map((name) =>
      TextField(visit, {
        name,
        label: fields[name],
        hint: fields.placeHint,
        value: audience?.filter?.[name],
        isOptional: true,
        max: 500,
        offered: places[name],
      }),
    ),
  ];
  return html`<div class="text">
    ${FormOf(visit, { fields: written, button: of ? save : saveDraft, of })}
  </div>`;
}

/** The newest, and all that are already chosen: saving the form would remove any that it does not show. */
async function choicesWith(visit: Visit, object: 'list' | 'petition', chosen: string[]): Promise<Choice[]> {
  if (!visit.may(`${object}:read`)) return [];
  const newest = await choicesOf(visit, `${object}.list-${object}s`);
  const missing = new Set(chosen.filter((id) => !newest.some(({ value }) => value === id)));
  const older = await Promise.all([...missing].map((id) => choiceOf(visit, object, id)));
  return [...newest, ...older.filter((choice) => choice !== undefined)];
}

/** Undefined if it was deleted. */
async function choiceOf(visit: Visit, object: string, id: string): Promise<Choice | undefined> {
  try {
    const record = await visit.run<{ name: string; title?: string }>(`${object}.get-${object}`, {
      [`${object}Id`]: id,
    });
    return { value: id, text: record.title ?? record.name };
  } catch (error) {
    if (error instanceof RpcError && error.code === 'NOT_FOUND') return undefined;
    throw error;
  }
}

/** Merge fields for the subject, the preview text and the message. */
function MergeFields({ broadcasts: { mergeFields }, fields }: Words): Html {
  const called = (name: string) => fields[name] ?? name;
  const rows: [name: string, becomes: string][] = [
    ...CONTACT_FIELDS.map((name): [string, string] => [`contact.${name}`, called(name)]),
    ...ORGANIZATION_FIELDS.map((name): [string, string] => [
      `organization.${name}`,
      mergeFields.organization(called(name)),
    ]),
    ...PETITION_FIELDS.map((name): [string, string] => [
      `petition.${name}`,
      mergeFields.petition(called(name)),
    ]),
    ['unsubscribeUrl', mergeFields.unsubscribeUrl],
  ];
  return html`<details>
    <summary>${mergeFields.title}</summary>
    ${Table({
      caption: mergeFields.title,
      columns: [{ name: mergeFields.written }, { name: mergeFields.becomes }],
      rows: rows.map(([name, becomes]) => [html`<code>{{ ${name} }}</code>`, becomes]),
    })}
  </details>`;
}

/** @param before the stored audience. Parts without a field in the form are kept. */
function typedIn(visit: Visit, before?: Audience): Record<string, unknown> {
  const { form } = visit;
  const [country, city] = [visit.typed('country'), visit.typed('city')];
  const zip = before?.filter?.zip ?? null;
  const chosen = {
    listIds: form.getAll('listIds'),
    petitionIds: form.getAll('petitionIds'),
    excludeListIds: form.getAll('excludeListIds'),
    excludePetitionIds: form.getAll('excludePetitionIds'),
    contactIds: before?.contactIds ?? [],
  };
  const filter = Object.fromEntries(
    Object.entries({ country, city, zip }).filter(([, value]) => value !== null),
  );
  const audience = {
    ...Object.fromEntries(Object.entries(chosen).filter(([, ids]) => ids.length > 0)),
    ...(Object.keys(filter).length > 0 ? { filter } : {}),
  };
  return {
    name: visit.typed('name') ?? '',
    ...(visit.typed('subject') === null ? {} : { subject: visit.typed('subject') }),
    preheader: visit.typed('preheader'),
    ...(form.has('content') ? { content: form.get('content') } : {}),
    ...(Object.keys(audience).length > 0 || before ? { audience } : {}),
  };
}
