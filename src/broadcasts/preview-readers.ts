import { Injectable } from '@nestjs/common';
import { isId, type Page, RpcError } from '#libs/rpc';
import { type ContactRecord, ContactsByIds, isInCountry, kindsOfContacts } from '../contacts/index.js';
import { type Audience, audienceFields } from './broadcast.js';

/** The user who previews a broadcast. `listContacts` runs `contact.list-contacts` for them. */
type Viewer = {
  organizationId: string;
  may: (scope: string) => boolean;
  listContacts: (fields: Record<string, unknown>) => Promise<Page<ContactRecord>>;
};

/** Contacts offered for the preview. */
const MOST_READERS = 25;
/** Limits of the search for these contacts: records that they belong to, and contacts chosen individually. */
const MOST_SOURCES = 10;
const MOST_NAMED = 100;

/** Contacts as whom a broadcast can be previewed. */
@Injectable()
export class PreviewReaders {
  constructor(private readonly contacts: ContactsByIds) {}

  /**
   * Some recipients that match the search; without an audience, any contacts. May include contacts whom the audience excludes, because
   * `contact.list-contacts` has no such filter.
   *
   * @param q part of a name or an email address.
   */
  async find(viewer: Viewer, audience: Audience, q: string | undefined): Promise<ContactRecord[]> {
    const { all = false, contactIds = [], filter = {} } = audience;
    const records = kindsOfContacts().flatMap(({ object, idField }) =>
      (audience[audienceFields(object).chosen] ?? []).map((id) => ({ object, chosenBy: { [idField]: id } })),
    );
    const visible = records.filter(({ object }) => viewer.may(`${object}:read`));
    const isOfAll = all || records.length + contactIds.length === 0;
    const sources = isOfAll ? [{}] : visible.map(({ chosenBy }) => chosenBy).slice(0, MOST_SOURCES);
    const listed = await Promise.all(
      sources.map((source) => listReaders(viewer, { q, ...filter, ...source })),
    );
    const named = await this.byIds(viewer.organizationId, contactIds.slice(0, MOST_NAMED));
    const meant = named.filter((contact) => isMeant(contact, filter, q));
    const byId = new Map([...listed.flat(), ...meant].map((contact) => [contact.id, contact]));
    return [...byId.values()].slice(0, MOST_READERS);
  }

  /** The contacts with these ids. Other texts and erased contacts are left out. */
  async byIds(organizationId: string, contactIds: readonly string[]): Promise<ContactRecord[]> {
    return [...(await this.contacts.find(organizationId, contactIds.filter(isId))).values()];
  }
}

async function listReaders(
  { listContacts }: Viewer,
  chosenBy: Record<string, unknown>,
): Promise<ContactRecord[]> {
  try {
    const { records } = await listContacts({ limit: MOST_READERS, subscribed: 'true', ...chosenBy });
    return records;
  } catch (error) {
    // A deleted record has no contacts.
    if (error instanceof RpcError && error.code === 'NOT_FOUND') return [];
    throw error;
  }
}

/** Applies the same filters as `contact.list-contacts`. */
function isMeant(contact: ContactRecord, filter: NonNullable<Audience['filter']>, q = ''): boolean {
  const { firstName, lastName, email } = contact;
  const name = [firstName, lastName].filter(Boolean).join(' ');
  const places = Object.entries(filter) as [keyof typeof filter, string][];
  return (
    contact.subscribed &&
    places.every(([column, place]) =>
      column === 'country' ? isInCountry(contact.country, place) : contact[column] === place,
    ) &&
    [name, email].filter(Boolean).join(', ').toLowerCase().includes(q.trim().toLowerCase())
  );
}
