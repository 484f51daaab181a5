import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Commands, type Decision, RecordReader } from '#libs/commands';
import { type Sql } from '#libs/database';
import { EventStore, type StreamWrite } from '#libs/event-store';
import { newId } from '#libs/random';
import { Input, type RequestContext } from '#libs/rpc';
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

/** What a provider reported of a message: that it bounced for good, or that its recipient complained or unsubscribed there. */
export type MailReport = {
  kind: 'bounce' | 'complaint' | 'unsubscribe';
  email: string;
  messageId: string | null;
};

const REPORTED = {
  bounce: { reason: 'BOUNCED', event: 'ContactBounced' },
  complaint: { reason: 'COMPLAINED', event: 'ContactComplained' },
  // The suppression is all that there is to say of it.
  unsubscribe: { reason: 'UNSUBSCRIBED', event: null },
} as const satisfies Record<MailReport['kind'], { reason: Reason; event: ContactMailEvent['type'] | null }>;

/** The commands that are no operations. */
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

/** Who is not written to. */
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
   * Those of the addresses that are suppressed, as they were given. One query, by the primary key.
   *
   * @param sql a transaction of the caller's, to look into its snapshot.
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

  /** Why an address is suppressed; nothing where it is not. */
  async reasonsOf(organizationId: string, email: string): Promise<readonly Reason[]> {
    const { state } = await this.records.look(suppression, organizationId, this.idOf(organizationId, email));
    return state.reasons;
  }

  /**
   * Suppresses an address; a reason that holds already changes nothing. The readable address is kept only where a contact has
   * it: a message to somebody who was erased since may still be answered.
   */
  async suppress(
    organizationId: string,
    email: string,
    reason: Reason,
    context: RequestContext,
  ): Promise<void> {
    const input = inputOf(SuppressAddress, { organizationId, email, reason, context });
    await this.commands.run(input, () => this.decideToSuppress(input));
  }

  /** @param onlyReason leaves a suppression that holds for others. */
  async unsuppress(
    organizationId: string,
    email: string,
    context: RequestContext,
    onlyReason?: Reason,
  ): Promise<void> {
    const reason = onlyReason === undefined ? {} : { reason: onlyReason };
    const input = inputOf(UnsuppressAddress, { organizationId, email, ...reason, context });
    await this.commands.run(input, () =>
      this.decideToEnd(input, ({ state }) => endSuppression(state, onlyReason)),
    );
  }

  /**
   * Suppresses the address for what was reported, and says so of the contact who has it. The same report again changes
   * nothing.
   *
   * @param visible false for one of many, after which the caller waits for the read models.
   */
  async report(
    organizationId: string,
    { kind, email, messageId }: MailReport,
    context: RequestContext,
    { visible = true } = {},
  ): Promise<void> {
    const { reason, event } = REPORTED[kind];
    const input = inputOf(ReportMail, { organizationId, kind, email, messageId, context });
    await this.commands.run(
      input,
      async () => {
        const contactId = await this.contactOf(input);
        const before = await this.mailOf(organizationId, contactId);
        // It came twice, and what happened in between stays: that somebody lifted the suppression, say.
        if (event && messageId !== null && before && isReported(before.state, event, messageId)) {
          return { recordId: this.idOf(organizationId, email), writes: [] };
        }
        const decision = await this.decideToSuppress({ ...input, reason }, { contactId });
        const isNew = messageId !== null || decision.writes.some(({ events }) => events.length > 0);
        if (!event || !before || !isNew) return decision;
        const said: StreamWrite = {
          streamType: contactMail.streamType,
          streamId: before.streamId,
          expectedVersion: before.version,
          events: [{ type: event, data: { contactId: contactId!, messageId } }],
          subjectId: contactId!,
        };
        return { ...decision, writes: [...decision.writes, said] };
      },
      { visible },
    );
  }

  /**
   * For a command that suppresses an address.
   *
   * @param options.keepsAddress also where no contact has it: somebody typed it in to see it listed.
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
    if (isOwn) writes.push(addressWrite(addressId, 0, [noted(recordId)]));
    return { recordId, writes };
  }

  /** For a command that deletes one. @throws RpcError NOT_FOUND where the address never was suppressed. */
  decideToDelete(input: Input & { email: string }): Promise<Decision> {
    return this.decideToEnd(input, ({ state, version }) => deleteSuppression(state, version));
  }

  /** With the last reason goes the address: nobody could have it erased any more. */
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

  /** The contact who has the address, if there is one. */
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

/** What erases these addresses, as far as they stand. */
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

function suppressionWrite(
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

function noted(suppressionId: string) {
  return { type: 'SuppressedAddressNoted', data: { suppressionId } } as const;
}

function inputOf<Command extends Input>(type: new () => Command, fields: NoInfer<Command>): Command {
  return Object.assign(new type(), fields);
}
