import { html, type Html } from '#libs/pages';
import { Resources } from '#libs/resources';
import { type DashboardWords } from '#locales';
import { audienceFields } from '../../broadcasts/index.js';
import { countryName } from '../../contacts/index.js';
import { kindsIn, linkTo } from '../belonging.js';
import { type PageContext } from '../page-context.js';
import { numberIn } from '../parts.js';
import { recordPages } from '../record-pages.js';

/** The recipients. Contains only the parts that were set. */
export type Audience = {
  all?: boolean;
  filter?: { country?: string; city?: string; zip?: string };
  [recordIds: `${string}Ids`]: string[];
};

export const FIGURES = [
  'sent',
  'failed',
  'skipped',
  'inDoubt',
  'bounced',
  'complained',
  'unsubscribed',
] as const;

export type Recipients = { total: number } & Record<(typeof FIGURES)[number], number | null>;

export type BroadcastRecord = {
  updatedAt: string;
  id: string;
  createdAt: string;
  name: string;
  subject: string;
  preheader: string | null;
  content: string;
  format: 'MARKDOWN' | 'HTML';
  audience: Audience;
  status: 'DRAFT' | 'SCHEDULED' | 'SENDING' | 'PAUSED' | 'SENT' | 'CANCELLED';
  sendAt: string | null;
  recipients: Recipients | null;
  countClicks: boolean;
  clicks: { url: string; clicks: number }[] | null;
};

export const broadcasts = recordPages<BroadcastRecord>({ section: 'broadcasts', record: 'broadcast' });

/** Records of a kind that the page names. */
const MOST_NAMED = 50;

/** Whom the email is for: the lists, petitions, tags and segments that were chosen or excluded. null: no one yet. */
export async function AudienceOf(context: PageContext, { audience }: BroadcastRecord): Promise<Html | null> {
  const { words, person, address, api } = context;
  const { chosenBy, excludedBy, all, contacts, deleted, more } = words.broadcasts.audience;
  const { country, city } = words.broadcasts.fields;
  const kinds = kindsIn(person).map((kind) => ({ kind, ...audienceFields(kind.object) }));
  const named = await Promise.all(
    [
      ...kinds.map(({ kind, chosen }) => ({ kind, ids: audience[chosen], label: chosenBy[kind.object] })),
      ...kinds.map(({ kind, excluded }) => ({
        kind,
        ids: audience[excluded],
        label: excludedBy[kind.object],
      })),
    ].map(async ({ kind, ids = [], label }) => {
      if (ids.length === 0 || label === undefined) return [];
      const shown = ids.slice(0, MOST_NAMED);
      const found = await api.find(Resources).named(kind, api.organizationId, shown);
      const [gone, rest] = [shown.length - found.length, ids.length - shown.length];
      const parts = [
        ...found.map((record) => linkTo(address, kind, record)),
        ...(gone > 0 ? [deleted(gone)] : []),
        ...(rest > 0 ? [more(rest)] : []),
      ];
      return [html`${label}: ${parts.map((part, at) => html`${at > 0 ? ', ' : null}${part}`)}`];
    }),
  );
  const { contactIds = [], filter = {} } = audience;
  const lines = [
    ...(audience.all ? [all] : []),
    ...named.flat(),
    ...(contactIds.length > 0 ? [`${contacts}: ${numberIn(words, contactIds.length)}`] : []),
    ...(filter.country === undefined ? [] : [`${country}: ${countryName(words.locale, filter.country)}`]),
    ...(filter.city === undefined ? [] : [`${city}: ${filter.city}`]),
    ...(filter.zip === undefined ? [] : [`${words.fields.zip}: ${filter.zip}`]),
  ];
  return lines.length === 0 ? null : html`<ul>${lines.map((line) => html`<li>${line}</li>`)}</ul>`;
}

/** Prefixes an error with the label of the field that caused it. @param path the field's name in the operation. */
export function faultWithin({ broadcasts: { fields } }: DashboardWords, path: string, text: string): string {
  return path === 'subject' || path === 'preheader' || path === 'content' ? `${fields[path]}: ${text}` : text;
}

/** Names the fields of errors on a page that does not contain these fields. @param own fields that the page does contain. */
export function nameFaults({ words, form }: PageContext, own: readonly string[]): void {
  const { refusal } = form;
  if (!refusal) return;
  const faults = refusal.faults.map(({ field, text }) =>
    own.includes(field) ? { field, text } : { field: '', text: faultWithin(words, field, text) },
  );
  form.refusal = { ...refusal, faults };
}

/** The addresses in the blocks that the editor offers for buttons and images, until someone replaces them. */
export const OFFERED = { button: 'https://example.org', image: 'https://example.org/image.jpg' };

export function hasOfferedAddress(content: string): boolean {
  return Object.values(OFFERED).some((address) => [')', '"'].some((end) => content.includes(address + end)));
}
