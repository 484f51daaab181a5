import { html, type Html } from '#libs/pages';
import { RpcError } from '#libs/rpc';
import { CONTACT_FIELDS, ORGANIZATION_FIELDS, PETITION_FIELDS } from '../../broadcasts/index.js';
import { choicesOf, type ContactRecord, nameOf } from '../contacts/pages.js';
import { type PageDefinition } from '../page.js';
import { AreaField, ButtonLink, ChoiceField, FormOf, SectionOf, Table, TextField } from '../parts.js';
import { type Visit } from '../visit.js';
import { type Words } from '../words/index.js';
import { type Audience, type BroadcastRecord, broadcastOf, faultWithin, toBroadcast } from './broadcast.js';

type Preview = { subject: string; html: string; text: string };

/** What is in a mail runs nothing, asks nobody, and stands in a frame of ours alone. */
const MAIL_HEADERS = {
  'Content-Security-Policy':
    "default-src 'none'; img-src 'self'; style-src 'unsafe-inline'; frame-ancestors 'self'; sandbox",
  'X-Frame-Options': 'SAMEORIGIN',
};

/** By whom the preview can be seen as. */
const MOST_READERS = 25;

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
        content: html`${await ReaderOf(visit)}
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

/** What a new one begins with: another one, where the address names it. @throws RpcError NOT_FOUND */
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

/** Or why there is none: what was written cannot be made a mail of. */
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

/** Whom to see it as: everybody gets another mail. */
async function ReaderOf(visit: Visit): Promise<Html | null> {
  if (!visit.may('contact:read')) return null;
  const { words } = visit;
  const { records } = await visit.run<{ records: ContactRecord[] }>('contact.list-contacts', {
    limit: MOST_READERS,
    subscribed: 'true',
  });
  const chosen = visit.query('contactId');
  return html`<form class="find" method="get">
    <div class="field">
      <label for="contactId">${words.broadcasts.previewAs}</label>
      <select id="contactId" name="contactId">
        <option value="">${words.broadcasts.anybody}</option>
        ${records.map(
          (contact) =>
            html`<option value="${contact.id}"${contact.id === chosen ? html` selected` : null}>${nameOf(contact)}</option>`,
        )}
      </select>
    </div>
    <button class="button plain">${words.posts.preview}</button>
  </form>`;
}

/** @param like what stands in its fields. @param of which one it changes; undefined: it makes another one. */
async function WritingOf(
  visit: Visit,
  { like, of }: { like?: BroadcastRecord | undefined; of?: BroadcastRecord },
): Promise<Html> {
  const { fields, save, saveDraft } = visit.words.broadcasts;
  const audience = like?.audience;
  const lists = visit.may('list:read') ? await choicesOf(visit, 'list.list-lists') : [];
  const petitions = visit.may('petition:read') ? await choicesOf(visit, 'petition.list-petitions') : [];
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
      TextField(visit, { name, label: fields[name], value: audience?.filter?.[name], isOptional: true }),
    ),
  ];
  return html`<div class="text">
    ${FormOf(visit, { fields: written, button: of ? save : saveDraft, of })}
  </div>`;
}

/** What can stand in the subject, the preview line and the text. */
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

/** @param before the audience as it was: what the form has no fields for stays. */
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
