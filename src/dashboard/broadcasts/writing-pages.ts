import { html, type Html } from '#libs/pages';
import { RpcError } from '#libs/rpc';
import { choicesOf, type ContactRecord, nameOf } from '../contacts/pages.js';
import { type PageDefinition } from '../page.js';
import { AreaField, ButtonLink, ChoiceField, FormOf, SectionOf, TextField } from '../parts.js';
import { type Visit } from '../visit.js';
import { type Audience, type BroadcastRecord, broadcastOf, toBroadcast } from './broadcast.js';

type Preview = { subject: string; html: string; text: string };

/** What is in a mail runs nothing, asks nobody, and stands in a frame of ours alone. */
export const MAIL_HEADERS = {
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
        content: await WritingOf(visit),
      });
    },
    act: async (visit) => {
      const { broadcastId } = await visit.run<{ broadcastId: string }>(
        'broadcast.create-broadcast',
        typedIn(visit),
      );
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
        content: await WritingOf(visit, broadcast),
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
    return { why: issues.map(({ message }) => visit.words.faultOf(message)) };
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

async function WritingOf(visit: Visit, broadcast?: BroadcastRecord): Promise<Html> {
  const { fields, save, saveDraft } = visit.words.broadcasts;
  const audience = broadcast?.audience;
  const lists = visit.may('list:read') ? await choicesOf(visit, 'list.list-lists') : [];
  const petitions = visit.may('petition:read') ? await choicesOf(visit, 'petition.list-petitions') : [];
  const choice = (name: keyof Audience, label: string, choices: { value: string; text: string }[]) =>
    choices.length === 0
      ? null
      : ChoiceField(visit, {
          name,
          label,
          choices,
          isMany: true,
          values: (audience?.[name] as string[]) ?? [],
        });
  const written = [
    TextField(visit, {
      name: 'name',
      label: fields.name,
      hint: fields.nameHint,
      value: broadcast?.name,
      max: 200,
    }),
    TextField(visit, { name: 'subject', label: fields.subject, value: broadcast?.subject, max: 200 }),
    TextField(visit, {
      name: 'preheader',
      label: fields.preheader,
      hint: fields.preheaderHint,
      value: broadcast?.preheader,
      isOptional: true,
    }),
    broadcast?.format === 'HTML'
      ? html`<p class="hint">${fields.html}</p>`
      : AreaField(visit, {
          name: 'content',
          label: fields.content,
          hint: fields.contentHint,
          value: broadcast?.content,
          isLong: true,
        }),
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
    ${FormOf(visit, { fields: written, button: broadcast ? save : saveDraft, of: broadcast })}
  </div>`;
}

/** @param before the audience as it was: what the form has no fields for stays. */
function typedIn(visit: Visit, before?: Audience | null): Record<string, unknown> {
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
