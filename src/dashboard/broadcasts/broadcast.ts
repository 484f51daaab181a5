import { type Visit } from '../visit.js';

export type Audience = {
  listIds: string[];
  petitionIds: string[];
  excludeListIds: string[];
  excludePetitionIds: string[];
  contactIds: string[];
  filter: { country: string | null; city: string | null; zip: string | null } | null;
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

export type BroadcastRecord = {
  updatedAt: string;
  id: string;
  createdAt: string;
  name: string;
  subject: string;
  preheader: string | null;
  content: string;
  format: 'MARKDOWN' | 'HTML';
  audience: Audience | null;
  status: 'DRAFT' | 'SCHEDULED' | 'SENDING' | 'PAUSED' | 'SENT' | 'CANCELLED';
  sendAt: string | null;
  recipients: ({ total: number } & Record<(typeof FIGURES)[number], number | null>) | null;
};

/** The broadcast that the address names. @throws RpcError NOT_FOUND */
export function broadcastOf(visit: Visit): Promise<BroadcastRecord> {
  return visit.run<BroadcastRecord>('broadcast.get-broadcast', { broadcastId: visit.params.broadcast });
}

export function toBroadcast(visit: Visit, { id, name }: BroadcastRecord) {
  return { href: visit.path(`broadcasts/${id}`), text: name };
}
