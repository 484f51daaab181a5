import { Injectable } from '@nestjs/common';
import { RecordReader } from '#libs/commands';
import { contact } from '../contacts/index.js';
import { Suppressions } from '../suppressions/index.js';
import { type Recipient } from './message-builder.js';
import { RECIPIENT_DETAILS } from './recipient-details.js';

/** The contacts that may receive a message now. */
@Injectable()
export class ReachableContacts {
  constructor(
    private readonly records: RecordReader,
    private readonly suppressions: Suppressions,
  ) {}

  /** For each contact, its current details, or why it receives nothing. */
  async find(
    organizationId: string,
    contactIds: readonly string[],
    { mustBeSubscribed }: { mustBeSubscribed: boolean },
  ): Promise<(Recipient | string)[]> {
    const loaded = await this.records.loadMany(contact, organizationId, contactIds);
    const folded = contactIds.map((id) => loaded.get(id)!);
    const emails = folded.flatMap(({ state }) =>
      state.status === 'standing' && state.details.email !== null ? [state.details.email] : [],
    );
    const suppressed = await this.suppressions.areSuppressed(organizationId, emails);
    return folded.map(({ state }, n) => {
      if (state.status !== 'standing' || state.details.email === null) return RECIPIENT_DETAILS.erased;
      if (mustBeSubscribed && !state.subscribed) return RECIPIENT_DETAILS.unsubscribed;
      if (suppressed.has(state.details.email)) return RECIPIENT_DETAILS.suppressed;
      return { id: contactIds[n]!, ...state.details, customFields: state.customFields };
    });
  }
}
