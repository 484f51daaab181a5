import { type DashboardWords } from '#locales';
import { type PageContext } from '../page-context.js';
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
};

export const broadcasts = recordPages<BroadcastRecord>({ section: 'broadcasts', record: 'broadcast' });

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
