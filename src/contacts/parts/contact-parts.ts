import { Injectable } from '@nestjs/common';
import { RecordReader } from '#libs/commands';
import { ReadSource } from '#libs/database';
import { EventStore } from '#libs/event-store';
import { Resources } from '#libs/resources';
import { type FieldSchema, type Page, recordSchema } from '#libs/rpc';
import { Consents } from '../consent/consents.js';

@Injectable()
export class PartReads {
  constructor(
    readonly resources: Resources,
    readonly reads: ReadSource,
    readonly store: EventStore,
    readonly consents: Consents,
    readonly records: RecordReader,
  ) {}
}

type PartQuery = { organizationId: string; contactId: string; limit: number; cursor?: string };

/** Records that belong to one contact, such as its tags. */
export type ContactPart = {
  /** The scope that it needs, in addition to `contact:read`. */
  scope?: string;
  schema: FieldSchema;
  /** Newest first. The contact exists. */
  page: (from: PartReads, query: PartQuery) => Promise<Page<object>>;
};

/** Records per part of a contact in `get-contact`. */
export const MOST_INCLUDED = 100;

const parts = new Map<string, ContactPart>();

/** The scopes of the words of `include`. */
export const PART_SCOPES: Record<string, string> = {};

/**
 * Declares records that `contact.get-contact` includes on request, and that `contact.export-person` exports. Call it where
 * their module is declared, before the first request.
 *
 * @param name the word of `include`, and the field of the contact: `tags`.
 */
export function includeInContacts(name: string, part: ContactPart): void {
  if (part.scope !== undefined) PART_SCOPES[`include=${name}`] = part.scope;
  parts.set(name, part);
}

export function contactParts(): ReadonlyMap<string, ContactPart> {
  return parts;
}

/** The fields that `include` adds to a contact. */
export function partSchemas(): Record<string, FieldSchema> {
  return Object.fromEntries(
    [...parts].map(([name, { schema }]) => [
      name,
      {
        ...recordSchema({ data: { type: 'array', items: schema }, hasMore: { type: 'boolean' } }),
        description: `Only with \`include=${name}\`: the newest ${MOST_INCLUDED}.`,
      },
    ]),
  );
}
