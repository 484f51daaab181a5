import { type Visit } from '../visit.js';
import { type Words } from '../words/index.js';

/** Only the parts that were given. */
export type Audience = {
  listIds?: string[];
  petitionIds?: string[];
  excludeListIds?: string[];
  excludePetitionIds?: string[];
  contactIds?: string[];
  filter?: { country?: string; city?: string; zip?: string };
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

/** The broadcast that the address names. @throws RpcError NOT_FOUND */
export function broadcastOf(visit: Visit, broadcastId = visit.params.broadcast): Promise<BroadcastRecord> {
  return visit.run<BroadcastRecord>('broadcast.get-broadcast', { broadcastId });
}

export function toBroadcast(visit: Visit, { id, name }: BroadcastRecord) {
  return { href: visit.path(`broadcasts/${id}`), text: name };
}

/** A subject as somebody reads it of whom nothing is known, as far as that can be said without its conditions. */
export function readableSubject(subject: string): string {
  return subject
    .replace(/\{%.*?%\}/g, '')
    .replace(/\{\{(.*?)\}\}/g, (_, output: string) => {
      const [, double, single] = /\|\s*default:\s*(?:"([^"]*)"|'([^']*)')/.exec(output) ?? [];
      return double ?? single ?? '…';
    })
    .trim();
}

/** What is wrong with what the broadcast says, named as where it is written. @param path as operations name it. */
export function faultWithin({ broadcasts: { fields } }: Words, path: string, text: string): string {
  return path === 'subject' || path === 'preheader' || path === 'content' ? `${fields[path]}: ${text}` : text;
}

/** On a page without fields for what the broadcast says. @param own the fields that it has. */
export function nameFaults(visit: Visit, own: readonly string[]): void {
  const { refusal, words } = visit;
  if (!refusal) return;
  const faults = refusal.faults.map(({ field, text }) =>
    own.includes(field) ? { field, text } : { field: '', text: faultWithin(words, field, text) },
  );
  visit.refusal = { ...refusal, faults };
}
