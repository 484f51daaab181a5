import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { type Decision, RecordReader } from '#libs/commands';
import { EventStore, type Folded } from '#libs/event-store';
import { type Contact, type ContactEvent, eraseContact } from '../contact.js';
import { contactWrite } from '../contact-stream.js';
import { cascadeErasure } from './cascade-erasure.js';

/** `isAwaited`: see `CascadedWrites`. */
type Erasure = Decision & { isAwaited: boolean };

/** Decides what erases contacts, with the data of other modules that belongs to their addresses. */
@Injectable()
export class ContactErasure {
  constructor(
    private readonly records: RecordReader,
    private readonly store: EventStore,
    private readonly source: DataSource,
  ) {}

  /** @throws RpcError NOT_FOUND if it never existed or was merged. */
  async decide(organizationId: string, contactId: string, loaded: Folded<Contact>): Promise<Erasure> {
    const events = eraseContact(loaded.state);
    if (events.length === 0) return erasureOf(contactId, loaded, events);
    const emails = await emailsOf(this.store, organizationId, contactId, loaded);
    return erasureOf(contactId, loaded, events, await this.cascade(organizationId, emails));
  }

  /** The same for many contacts, of which few have data in other modules. In the same order. */
  async decideAll(
    organizationId: string,
    contacts: readonly (readonly [contactId: string, loaded: Folded<Contact>])[],
  ): Promise<Erasure[]> {
    const emails = await Promise.all(
      contacts.map(([id, loaded]) => emailsOf(this.store, organizationId, id, loaded)),
    );
    const { writes } = await this.cascade(organizationId, emails.flat());
    if (writes.length > 0)
      return Promise.all(contacts.map(([id, loaded]) => this.decide(organizationId, id, loaded)));
    return contacts.map(([id, loaded]) => erasureOf(id, loaded, eraseContact(loaded.state)));
  }

  /**
   * Erases all these contacts or none.
   *
   * @throws RpcError NOT_FOUND if one never existed or was merged.
   */
  async decideTogether(
    organizationId: string,
    contacts: readonly (readonly [contactId: string, loaded: Folded<Contact>])[],
  ): Promise<Decision> {
    const standing = contacts.filter(([, { state }]) => eraseContact(state).length > 0);
    const emails = new Set<string>();
    // One after another, because each may read a whole history.
    for (const [id, loaded] of standing)
      for (const email of await emailsOf(this.store, organizationId, id, loaded)) emails.add(email);
    const { writes, erases, releasesAll } =
      standing.length > 0 ? await this.cascade(organizationId, [...emails]) : NONE;
    return {
      recordId: contacts[0]![0],
      writes: [
        ...contacts.map(([id, { state, version }]) => contactWrite(id, version, eraseContact(state))),
        ...writes,
      ],
      erases: [...contacts.map(([id]) => id), ...erases],
      releasesAll,
    };
  }

  private cascade(organizationId: string, emails: readonly string[]) {
    const reads = { records: this.records, store: this.store, source: this.source };
    return cascadeErasure(reads, organizationId, emails);
  }
}

function erasureOf(
  contactId: string,
  { version }: Folded<Contact>,
  events: ContactEvent[],
  { writes, erases, releasesAll, isAwaited }: Awaited<ReturnType<typeof cascadeErasure>> = NONE,
): Erasure {
  return {
    recordId: contactId,
    writes: [contactWrite(contactId, version, events), ...writes],
    erases: [contactId, ...erases],
    releasesAll,
    isAwaited,
  };
}
const NONE = { writes: [], erases: [], releasesAll: [], isAwaited: false };

/** The current address, all previous ones, and those of contacts merged into this one, from the contact's history. */
export async function emailsOf(
  store: EventStore,
  organizationId: string,
  contactId: string,
  { state, version }: Folded<Contact>,
): Promise<string[]> {
  if (version === 1 && state.status === 'standing') return [state.details.email!];
  const emails = new Set<string>();
  for await (const events of store.readStreamPages<ContactEvent>(organizationId, contactId, {})) {
    for (const event of events) for (const email of emailsIn(event)) emails.add(email);
  }
  return [...emails];
}

function emailsIn(event: ContactEvent): string[] {
  if (!('personal' in event) || !event.personal) return [];
  if (event.type === 'DuplicatesMerged') return event.personal.duplicates.flatMap(({ emails }) => emails);
  const { email } = event.personal;
  return email == null ? [] : [email];
}
