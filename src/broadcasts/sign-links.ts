import { Injectable } from '@nestjs/common';
import { RecordReader } from '#libs/commands';
import { EventStore, readSignedIds, signIds } from '#libs/event-store';
import { broadcast } from './broadcast.js';

/** The contact that a link was sent to, the petition to sign, and the broadcast that contained the link. */
export type LinkedSigner = {
  organizationId: string;
  petitionId: string;
  contactId: string;
  broadcastId: string;
};

const PURPOSE = 'sign';
/** Counted from the start of sending, so that the token needs no time. */
const DAYS_TO_SIGN = 60;

/** Personal links that sign a petition with one click, because the email proved the address. */
@Injectable()
export class SignLinks {
  constructor(
    private readonly records: RecordReader,
    private readonly store: EventStore,
  ) {}

  /** 107 characters. */
  tokenOf({ organizationId, petitionId, contactId, broadcastId }: LinkedSigner): string {
    return signIds(this.store.keyring, PURPOSE, [organizationId, petitionId, contactId, broadcastId]);
  }

  /** Undefined if the token was not issued here or has expired, or if the broadcast was never sent. */
  async read(token: string): Promise<LinkedSigner | undefined> {
    const ids = readSignedIds(this.store.keyring, PURPOSE, 4, token);
    if (!ids) return undefined;
    const [organizationId, petitionId, contactId, broadcastId] = ids as [string, string, string, string];
    const { state } = await this.records.look(broadcast, organizationId, broadcastId);
    const startedAt = 'startedAt' in state ? state.startedAt : null;
    if (startedAt === null || Date.now() > Date.parse(startedAt) + DAYS_TO_SIGN * 86_400_000)
      return undefined;
    return { organizationId, petitionId, contactId, broadcastId };
  }
}
