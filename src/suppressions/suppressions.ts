import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Commands, type Decision, RecordReader } from '#libs/commands';
import { type Sql } from '#libs/database';
import { EventStore, type StreamWrite } from '#libs/event-store';
import { newId } from '#libs/random';
import { Input, inputOf, type RequestContext } from '#libs/rpc';
import { ContactsByEmail, emailKeys } from '../contacts/index.js';
import { contactMail, contactMailId, type ContactMailEvent, isReported } from './contact-mail.js';
import { eraseAddress, suppressedAddress } from './suppressed-address.js';
import { suppressionIdOf } from './suppression-id.js';
import {
  deleteSuppression,
  endSuppression,
  type Holder,
  isSuppressed,
  type Reason,
  suppressAddress,
  suppression,
  type Suppression,
  type SuppressionEvent,
} from './suppression.js';
import { SUPPRESSIONS_TABLE } from './suppressions.projection.js';

/** A provider's report: a permanent bounce, a complaint or an unsubscribe. */
export type MailReport = {
  kind: 'bounce' | 'complaint' | 'unsubscribe';
  email: string;
  messageId: string | null;
};

const REPORTED = {
  bounce: { reason: 'BOUNCED', event: 'ContactBounced' },
  complaint: { reason: 'COMPLAINED', event: 'ContactComplained' },
  // The suppression is the only record of it.
  unsubscribe: { reason: 'UNSUBSCRIBED', event: null },
} as const satisfies Record<MailReport['kind'], { reason: Reason; event: ContactMailEvent['type'] | null }>;

/** Commands that are not operations of the API. */
class SuppressAddress extends Input {
  email!: string;
  reason!: Reason;
}
class UnsuppressAddress extends Input {
  email!: string;
  reason?: Reason;
}
class ReportMail extends Input {
  kind!: MailReport['kind'];
  email!: string;
  messageId!: string | null;
}

/** The addresses that must not receive email. */
@Injectable()
export class Suppressions {
  constructor(
    private readonly commands: Commands,
    private readonly records: RecordReader,
    private readonly byEmail: ContactsByEmail,
    private readonly store: EventStore,
    private readonly source: DataSource,
  ) {}

  /**
   * Returns those of the addresses that are suppressed, as given. One query, by primary key.
   *
   * @param sql a transaction of the caller, to read its snapshot.
   */
  async areSuppressed(
    organizationId: string,
    emails: readonly string[],
    sql: Sql = this.source,
  ): Promise<ReadonlySet<string>> {
    if (emails.length === 0) return new Set();
    const ids = emails.map((email) => this.idOf(organizationId, email));
    const rows = await sql.query<{ id: string }[]>(
      `SELECT id FROM ${SUPPRESSIONS_TABLE} WHERE organization_id = $1 AND id = ANY ($2::uuid[])`,
      [organizationId, ids],
    );
    const suppressed = new Set(rows.map(({ id }) => id));
    return new Set(emails.filter((_, n) => suppressed.has(ids[n]!)));
  }

  /** Why an address is suppressed. Empty if it is not. */
  async reasonsOf(organizationId: string, email: string): Promise<readonly Reason[]> {
    const { state } = await this.records.look(suppression, organizationId, this.idOf(organizationId, email));
    return state.reasons;
  }

  /**
   * Suppresses an address. Does nothing if the reason already applies. The readable address is stored only if a
   * contact has it, because reports can still arrive for people who have since been erased.
   */
  async suppress(
    organizationId: string,
    email: string,
    reason: Reason,
    context: RequestContext,
  ): Promise<void> {
    const input = inputOf(SuppressAddress, { email, reason }, context);
    await this.commands.run(input, () => this.decideToSuppress(input));
  }

  /** @param onlyReason if given, other reasons keep the address suppressed. */
  async unsuppress(
    organizationId: string,
    email: string,
    context: RequestContext,
    onlyReason?: Reason,
  ): Promise<void> {
    const reason = onlyReason === undefined ? {} : { reason: onlyReason };
    const input = inputOf(UnsuppressAddress, { email, ...reason }, context);
    await this.commands.run(input, () =>
      this.decideToEnd(input, ({ state }) => endSuppression(state, onlyReason)),
    );
  }

  /**
   * Suppresses the address for the reported reason, and records the report for the contact who has the address.
   * Repeating a report changes nothing.
   *
   * @param visible false if the caller reports many and then waits for the projections itself.
   */
  async report(
    organizationId: string,
    { kind, email, messageId }: MailReport,
    context: RequestContext,
    { visible = true } = {},
  ): Promise<void> {
    const { reason, event } = REPORTED[kind];
    const input = inputOf(ReportMail, { kind, email, messageId }, context);
    await this.commands.run(
      input,
      async () => {
        const contactId = await this.contactOf(input);
        const before = await this.mailOf(organizationId, contactId);
        // A repeated report must not undo what happened since, such as lifting the suppression.
        if (event && messageId !== null && before && isReported(before.state, event, messageId)) {
          return { recordId: this.idOf(organizationId, email), writes: [] };
        }
        const decision = await this.decideToSuppress({ ...input, reason }, { contactId });
        const isNew = messageId !== null || decision.writes.some(({ events }) => events.length > 0);
        if (!event || !before || !isNew) return decision;
        const reported: StreamWrite = {
          streamType: contactMail.streamType,
          streamId: before.streamId,
          expectedVersion: before.version,
          events: [{ type: event, data: { contactId: contactId!, messageId } }],
          subjectId: contactId!,
        };
        return { ...decision, writes: [...decision.writes, reported] };
      },
      { visible },
    );
  }

  /**
   * For a command that suppresses an address.
   *
   * @param options.keepsAddress stores the address even if no contact has it: a user entered it to see it in the list.
   */
  async decideToSuppress(
    input: Input & { email: string; reason: Reason },
    options: { keepsAddress?: boolean; contactId?: string | undefined } = {},
  ): Promise<Decision> {
    const { organizationId, email, reason } = input;
    const recordId = this.idOf(organizationId, email);
    const { state, version } = await this.records.load(suppression, organizationId, recordId);
    const contactId = 'contactId' in options ? options.contactId : await this.contactOf(input);
    const addressId = newId();
    const isOwn = contactId === undefined && options.keepsAddress === true && !isSuppressed(state);
    const holder: Holder | undefined =
      contactId !== undefined
        ? { contactId, addressId: null }
        : isOwn
          ? { contactId: null, addressId }
          : undefined;
    const events = suppressAddress(state, reason, email, holder);
    const writes = [suppressionWrite(recordId, version, events, holder)];
    if (isOwn) writes.push(addressWrite(addressId, 0, [addressNoted(recordId)]));
    return { recordId, writes };
  }

  /** Decides to delete a suppression. @throws RpcError NOT_FOUND if the address was never suppressed. */
  decideToDelete(input: Input & { email: string }): Promise<Decision> {
    return this.decideToEnd(input, ({ state, version }) => deleteSuppression(state, version));
  }

  /** Removes the address with its last reason, because later no one could have it erased. */
  private async decideToEnd(
    { organizationId, email }: Input & { email: string },
    decide: (loaded: { state: Suppression; version: number }) => SuppressionEvent[],
  ): Promise<Decision> {
    const recordId = this.idOf(organizationId, email);
    const loaded = await this.records.load(suppression, organizationId, recordId);
    const events = decide(loaded);
    const writes = [suppressionWrite(recordId, loaded.version, events)];
    const after = events.reduce((state, event) => suppression.evolve(state, event, new Date()), loaded.state);
    const { addressId } = loaded.state;
    if (addressId === null || isSuppressed(after)) return { recordId, writes };
    const erasure = await erasureOf(this.records, organizationId, [addressId]);
    return { recordId, writes: [...writes, ...erasure.writes], erases: erasure.erases };
  }

  private idOf(organizationId: string, email: string): string {
    return suppressionIdOf(this.store.keyring, organizationId, email);
  }

  /** The contact who has the address, if any. */
  private async contactOf(input: Input & { email: string }): Promise<string | undefined> {
    const { organizationId, email } = input;
    const owners = await this.commands.findOwners(organizationId, emailKeys(email));
    for (const contactId of new Set(owners)) {
      if (contactId !== undefined && (await this.byEmail.find(input, contactId, email))) return contactId;
    }
    return undefined;
  }

  private async mailOf(organizationId: string, contactId: string | undefined) {
    if (contactId === undefined) return undefined;
    const streamId = contactMailId(contactId);
    return { streamId, ...(await this.records.load(contactMail, organizationId, streamId)) };
  }
}

/** The writes that erase these addresses. Those already erased need none. */
export async function erasureOf(
  records: RecordReader,
  organizationId: string,
  addressIds: readonly string[],
): Promise<{ writes: StreamWrite[]; erases: string[] }> {
  const loaded = await records.loadMany(suppressedAddress, organizationId, addressIds);
  const writes = [...loaded].flatMap(([id, { state, version }]) => {
    const events = eraseAddress(state);
    return events.length > 0 ? [addressWrite(id, version, events)] : [];
  });
  return { writes, erases: writes.map(({ streamId }) => streamId) };
}

export function suppressionWrite(
  streamId: string,
  expectedVersion: number,
  events: SuppressionEvent[],
  holder?: Holder,
): StreamWrite {
  const subjectId = holder?.contactId ?? holder?.addressId;
  const subject = subjectId && events.length > 0 ? { subjectId } : {};
  return { streamType: suppression.streamType, streamId, expectedVersion, events, ...subject };
}

function addressWrite(
  addressId: string,
  expectedVersion: number,
  events: Parameters<typeof suppressedAddress.evolve>[1][],
): StreamWrite {
  const { streamType } = suppressedAddress;
  return { streamType, streamId: addressId, expectedVersion, events, subjectId: addressId };
}

function addressNoted(suppressionId: string) {
  return { type: 'SuppressedAddressNoted', data: { suppressionId } } as const;
}
