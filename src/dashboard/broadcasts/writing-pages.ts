import { html, type Html } from '#libs/pages';
import { invalid, noSuch, type Page, RpcError } from '#libs/rpc';
import { type DashboardWords } from '#locales';
import {
  audienceFields,
  CONTACT_FIELDS,
  ORGANIZATION_FIELDS,
  PETITION_FIELDS,
  PreviewReaders,
  readableSubject,
} from '../../broadcasts/index.js';
import { type ContactRecord, countryName, kindsOfContacts, Places } from '../../contacts/index.js';
import { choicesWith, MOST_CHOICES, nameOf } from '../contacts/contact.js';
import { mailPage } from '../document.js';
import { type PageDefinition } from '../page.js';
import {
  ButtonLink,
  CheckField,
  type Choice,
  ChoiceField,
  fieldsFor,
  Folded,
  FormOf,
  SectionOf,
  Table,
  TextField,
} from '../parts.js';
import { PickerOf } from '../picker.js';
import { type FieldRecord } from '../../fields/index.js';
import { customFieldsOf } from '../contacts/custom-values.js';
import { type FormInput, type PageContext } from '../page-context.js';
import { type Audience, type BroadcastRecord, broadcasts, OFFERED } from './broadcast.js';
import { type AudiencePreview, choosesSome, ReachOf } from './reach.js';
import { faultsOf, showUnsaved, UnsavedPreview } from './unsaved-preview.js';

type Preview = { subject: string; html: string; text: string; bytes: number; warnings: object[] };

export const writingPages: PageDefinition[] = [
  ...broadcasts.writing({
    keepsDrafts: true,
    content: async (context, broadcast) =>
      WritingOf(context, { like: broadcast ?? (await likeOf(context)), of: broadcast }),
    isAgain: isCount,
    input: async (context, broadcast) => {
      if (broadcast) return typedIn(context.form, broadcast.audience);
      const like = await likeOf(context);
      const { format, content } = like ?? {};
      return { ...(format === 'HTML' && { format, content }), ...typedIn(context.form, like?.audience) };
    },
  }),
  {
    path: 'broadcasts/preview',
    needs: 'broadcast:write',
    show: () => {
      throw noSuch('preview');
    },
    act: async (context) => {
      const { form, person } = context;
      const { format, content, audience } = (await likeOf(context)) ?? {};
      return showUnsaved(context, {
        ...{ subject: form.typed('subject') ?? '', preheader: form.typed('preheader') },
        ...(form.has('content') ? { content: form.get('content') } : { format, content }),
        // Only for the values of its petition.
        ...(person.may('petition:read') && { audience: typedAudience(form, audience) }),
      });
    },
  },
  broadcasts.page('preview', {
    needs: 'broadcast:read',
    title: ({ broadcasts }, { name }) => `${broadcasts.preview}: ${name}`,
    content: async (context, broadcast) => {
      const { address, person, words } = context;
      const { broadcasts } = words;
      const contactId = address.query('contactId');
      const path = `broadcasts/${broadcast.id}`;
      const shown = await shownOf(context);
      if ('why' in shown)
        return html`<div class="faults" role="alert">${shown.why.map((why) => html`<p>${why}</p>`)}</div>
          ${person.may('broadcast:write') ? html`<p>${ButtonLink(address, `${path}/edit`, broadcasts.edit)}</p>` : null}`;
      const { subject, text, bytes, warnings } = shown;
      const query = contactId === undefined ? '' : `?contactId=${encodeURIComponent(contactId)}`;
      return html`${await ReaderOf(context, broadcast)}
        ${warnings.length === 0 ? null : html`<div class="faults" role="alert"><p>${broadcasts.large(Math.ceil(bytes / 1024))}</p></div>`}
        <p class="lead">${subject}</p>
        <iframe sandbox title="${broadcasts.frame}" src="${address.path(`${path}/mail${query}`)}"></iframe>
        ${SectionOf(broadcasts.previewText, html`<pre class="code" tabindex="0">${text}</pre>`)}`;
    },
  }),
  {
    path: 'broadcasts/:broadcast/mail',
    needs: 'broadcast:read',
    show: async (context) => {
      const mail = await previewOf(context);
      return mailPage(context.words, mail.html);
    },
  },
];

/** The broadcast to duplicate, if the address names one. @throws RpcError NOT_FOUND */
async function likeOf({ address, api }: PageContext): Promise<BroadcastRecord | undefined> {
  const broadcastId = address.query('like');
  return broadcastId === undefined
    ? undefined
    : api.run<BroadcastRecord>('broadcast.get-broadcast', { broadcastId });
}

function previewOf({ address, api }: PageContext): Promise<Preview> {
  return api.run<Preview>('broadcast.preview-broadcast', {
    broadcastId: address.params.broadcast,
    contactId: address.query('contactId'),
  });
}

/** The preview, or the errors that prevent it. */
async function shownOf(context: PageContext): Promise<Preview | { why: string[] }> {
  try {
    return await previewOf(context);
  } catch (error) {
    const why = faultsOf(context.words, error);
    if (!why) throw error;
    return { why };
  }
}

/** The form that chooses a recipient for the preview, because each recipient's email differs. */
async function ReaderOf(
  { words, person, address, api }: PageContext,
  broadcast: BroadcastRecord,
): Promise<Html | null> {
  if (!person.may('contact:read')) return null;
  const { previewAs, previewSearch, anybody } = words.broadcasts;
  const chosen = address.query('contactId');
  const { organizationId } = api;
  const viewer = {
    organizationId,
    may: (scope: string) => person.may(scope),
    listContacts: (fields: Record<string, unknown>) =>
      api.run<Page<ContactRecord>>('contact.list-contacts', fields),
  };
  const all = api.find(PreviewReaders);
  const [found, [own]] = await Promise.all([
    all.find(viewer, broadcast.audience, address.query('q')),
    chosen === undefined ? [] : all.byIds(organizationId, [chosen]),
  ]);
  const readers = own && !found.some(({ id }) => id === own.id) ? [own, ...found] : found;
  return html`<form class="find" method="get">
    <div class="field">
      <label for="q">${previewSearch}</label>
      <input id="q" name="q" type="search" autocomplete="off" maxlength="200" value="${address.query('q') ?? ''}" />
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

/** Countries and cities come from contacts, so they require `contact:read`. */
async function placesOf({ words, person, api }: PageContext): Promise<{ country: string[]; city: string[] }> {
  if (!person.may('contact:read')) return { country: [], city: [] };
  const places = api.find(Places);
  const [country, city] = await Promise.all([
    places.countries(api.organizationId),
    places.cities(api.organizationId),
  ]);
  return { country: country.map((one) => countryName(words.locale, one)), city };
}

/** Values of a rejected form without a checkbox that are looked up. */
const MOST_TYPED = 100;

/** Name of the button that counts the recipients, before the email is saved. A script counts whenever the selection changes. */
const COUNT = 'count';

function isCount(form: FormInput): boolean {
  return form.has(COUNT);
}

async function CountOf({ words, form, api }: PageContext, before?: Audience): Promise<Html | null> {
  const audience = typedAudience(form, before);
  if (!choosesSome(audience)) return null;
  try {
    const preview = await api.run<AudiencePreview>('broadcast.preview-audience', {
      audience: JSON.stringify(audience),
    });
    return ReachOf(words, audience, preview);
  } catch (error) {
    // Saving names the field. Chosen records may have been deleted since the form was opened.
    if (error instanceof RpcError && ['BAD_REQUEST', 'NOT_FOUND'].includes(error.code)) return null;
    throw error;
  }
}

/** @param like initial values of the fields. @param of the broadcast to edit; undefined creates a new one. */
async function WritingOf(
  context: PageContext,
  { like, of }: Record<'like' | 'of', BroadcastRecord | undefined>,
): Promise<Html> {
  const { words } = context;
  const { fields, save, saveDraft } = words.broadcasts;
  const audience = like?.audience;
  const kinds = await Promise.all(
    kindsOfContacts().map(async ({ object }) => {
      const { chosen, excluded } = audienceFields(object);
      const typed = [chosen, excluded].flatMap((name) => context.form.getAll(name)).slice(0, MOST_TYPED);
      const stored = [...(audience?.[chosen] ?? []), ...(audience?.[excluded] ?? []), ...typed];
      return { object, chosen, excluded, choices: await choicesWith(context, object, stored) };
    }),
  );
  const places = await placesOf(context);
  const customFields = await customFieldsOf(context);
  const choice = (name: `${string}Ids`, label: string, choices: Choice[], isFolded = false) => {
    const values = audience?.[name] ?? [];
    return choices.length === 0
      ? null
      : ChoiceField(context.form, { name, label, choices, isMany: true, values, isFolded });
  };
  const picked = (of: 'chosen' | 'excluded', label: string, labels: Record<string, string>) => {
    const found = kinds.flatMap(({ object, choices, ...names }) => {
      const content = choice(names[of], labels[object]!, choices, of === 'chosen');
      return content ? [{ object, field: names[of], content, isWhole: choices.length < MOST_CHOICES }] : [];
    });
    return found.length === 0 ? null : PickerOf(context, `${of}-picker`, label, found);
  };
  const excluding = picked('excluded', fields.addExclusions, fields.exclude);
  const excludesSome = kinds.some(({ excluded, choices }) =>
    choices.some(({ value }) =>
      context.form.isTicked(excluded, audience?.[excluded]?.includes(value) ?? false, value),
    ),
  );
  const { text, optionalText, area } = fieldsFor(context.form, fields, like);
  const message = [
    text('subject', { max: 200 }),
    optionalText('preheader'),
    like?.format === 'HTML' ? html`<p class="hint">${fields.html}</p>` : area('content', { markup: 'mail' }),
    optionalText('name', { max: 200 }),
    CheckField(context.form, {
      name: 'countClicks',
      label: fields.countClicks,
      isTicked: like?.countClicks === true,
    }),
    MergeFields(context.words, customFields, context.words.broadcasts.mergeFields.ofOnePetition),
    like?.format === 'HTML' ? null : BlocksOf(context.words, { field: 'content' }),
  ];
  const recipients = [
    CheckField(context.form, { name: 'all', label: fields.all, isTicked: audience?.all === true }),
    picked('chosen', fields.addRecipients, fields.sendTo),
    excluding === null ? null : Folded(fields.exclusions, excluding, excludesSome),
    Folded(
      fields.places,
      (['country', 'city'] as const).map((name) =>
        TextField(context.form, {
          name,
          label: fields[name],
          hint: fields.placeHint,
          value: audience?.filter?.[name],
          isOptional: true,
          max: 500,
          offered: places[name],
        }),
      ),
      audience?.filter !== undefined,
    ),
  ];
  const { title, count } = words.broadcasts.audience;
  const mayCount = context.person.may('contact:read');
  const counted = mayCount && isCount(context.form) ? await CountOf(context, audience) : null;
  const sheet = html`<div class="sheet" data-watched>
    <h2>${title}</h2>
    ${recipients} ${mayCount ? html`<div data-live="${COUNT}" role="status">${counted}</div>` : null}
  </div>`;
  const preview = UnsavedPreview(context, like);
  const form = FormOf(context.form, {
    fields: [...message, sheet],
    button: of ? save : saveDraft,
    // After the button that saves, which the Enter key presses.
    secondButton: html`${preview.button}
    ${mayCount ? html`<button class="button plain" name="${COUNT}" value="true">${count}</button>` : null}`,
    of,
    writer: context.person,
  });
  return html`<div class="beside">
    <div>${form}</div>
    ${preview.panel}
  </div>`;
}

/** Merge fields for the subject, the preview text and the message. */
export function MergeFields(
  { broadcasts: { mergeFields }, fields }: DashboardWords,
  customFields: readonly FieldRecord[],
  note?: string,
): Html {
  const called = (name: string) => fields[name] ?? name;
  const rows: [name: string, becomes: string][] = [
    ...CONTACT_FIELDS.map((name): [string, string] => [`contact.${name}`, called(name)]),
    ...customFields.map(({ key, name }): [string, string] => [`contact.fields.${key}`, name]),
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
  return html`<details data-merge-fields>
    <summary>${mergeFields.title}</summary>
    ${Table({
      caption: mergeFields.title,
      columns: [{ name: mergeFields.written }, { name: mergeFields.becomes }],
      rows: rows.map(([name, becomes]) => [html`<code>{{ ${name} }}</code>`, becomes]),
    })}
    ${note === undefined ? '' : html`<p class="hint">${note}</p>`}
  </details>`;
}

/**
 * Parts of a message to copy into its field. If scripts run, the field has a button for each.
 *
 * @param field the name of the message's field. @param isToSigners whether all recipients have signed.
 */
export function BlocksOf(
  { broadcasts: { blocks } }: DashboardWords,
  { field, isToSigners = false }: { field: string; isToSigners?: boolean },
): Html {
  const sign = (url: string) => `[${blocks.sign}](${url} "button")`;
  const url = '{{ petition.url }}';
  const toSign: [name: string, text: string][] = [
    [blocks.signButton, sign('{{ petition.signUrl }}')],
    [
      blocks.petition,
      `### {{ petition.title }}\n\n{{ petition.signatures }} / {{ petition.goal }}\n\n${sign('{{ petition.signUrl }}')}`,
    ],
  ];
  const rows: [name: string, text: string][] = [
    [blocks.firstName, `{{ contact.firstName | default: "${blocks.somebody}" }}`],
    ...(isToSigners ? [] : toSign),
    [
      blocks.share,
      [
        `[${blocks.mail}](mailto:?body=${url})`,
        `[WhatsApp](https://wa.me/?text=${url})`,
        `[Facebook](https://www.facebook.com/sharer/sharer.php?u=${url})`,
        `[Bluesky](https://bsky.app/intent/compose?text=${url})`,
      ].join(' · '),
    ],
    [blocks.button, sign(OFFERED.button)],
    [blocks.image, `![${blocks.alt}](${OFFERED.image})`],
    [blocks.divider, '---'],
    [blocks.unsubscribe, `[${blocks.unsubscribe}]({{ unsubscribeUrl }})`],
  ];
  return html`<details data-inserts="${field}">
    <summary>${blocks.title}</summary>
    ${Table({
      caption: blocks.title,
      columns: [{ name: blocks.block }, { name: blocks.written }],
      rows: rows.map(([name, text]) => [name, html`<pre class="code" data-insert="${name}">${text}</pre>`]),
    })}
  </details>`;
}

function typedIn(form: FormInput, before?: Audience): Record<string, unknown> {
  const [name, subject] = [form.typed('name'), form.typed('subject')];
  if (name === null && subject === null) throw invalid([{ path: 'subject', message: 'is required' }]);
  const audience = typedAudience(form, before);
  return {
    name: name ?? readableSubject(subject!),
    ...(subject === null ? {} : { subject }),
    preheader: form.typed('preheader'),
    countClicks: form.has('countClicks'),
    ...(form.has('content') ? { content: form.get('content') } : {}),
    ...(Object.keys(audience).length > 0 || before ? { audience } : {}),
  };
}

/** @param before the stored audience. Parts without a field in the form are kept. */
function typedAudience(form: FormInput, before?: Audience): Audience {
  const [country, city] = [form.typed('country'), form.typed('city')];
  const zip = before?.filter?.zip ?? null;
  const names = kindsOfContacts().flatMap(({ object }) => Object.values(audienceFields(object)));
  const chosen = {
    ...Object.fromEntries(names.map((name) => [name, form.getAll(name)])),
    contactIds: before?.contactIds ?? [],
  };
  const filter = Object.fromEntries(
    Object.entries({ country, city, zip }).filter(([, value]) => value !== null),
  );
  return {
    ...(form.has('all') ? { all: true } : {}),
    ...Object.fromEntries(Object.entries(chosen).filter(([, ids]) => ids.length > 0)),
    ...(Object.keys(filter).length > 0 ? { filter } : {}),
  };
}
