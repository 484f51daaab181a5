import { type DataSource } from 'typeorm';
import { contactParts, type PartReads } from '../parts/contact-parts.js';

export type ExportedPerson = {
  organizationId: string;
  contactId: string;
  /** The current address and all previous ones. */
  emails: readonly string[];
};

/** Reads the records of one kind about a person, in pages, so that an export of any size fits in memory. */
export type PersonSource = (
  from: PartReads,
  person: ExportedPerson,
  source: DataSource,
) => AsyncIterable<readonly object[]>;

const sources = new Map<string, PersonSource>();

/**
 * Declares data about people that `contact.export-person` exports, in addition to the parts of a contact (`includeInContacts`).
 * Call it where the module is declared, before the first request.
 *
 * @param name the field of the export.
 */
export function exportWithPersons(name: string, source: PersonSource): void {
  sources.set(name, source);
}

export function personSources(): ReadonlyMap<string, PersonSource> {
  const parts = [...contactParts()].map(([name, { page }]): [string, PersonSource] => [
    name,
    async function* (from, { organizationId, contactId }) {
      let cursor: string | null | undefined;
      do {
        const query = { organizationId, contactId, limit: PART_PAGE, ...(cursor ? { cursor } : {}) };
        const { records, pagination } = await page(from, query);
        yield records;
        ({ cursor } = pagination);
      } while (cursor);
    },
  ]);
  return new Map([...parts, ...sources]);
}

/** The largest page that a list returns. */
const PART_PAGE = 100;
