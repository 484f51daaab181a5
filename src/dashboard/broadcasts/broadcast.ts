import { type Visit } from '../visit.js';

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
