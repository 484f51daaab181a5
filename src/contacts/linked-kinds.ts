import { type Sql } from '#libs/database';
import { type Link } from '#libs/links';
import { type Resource } from '#libs/resources';
import { kindsOfContacts } from './filters/contact-filters.js';

/** A kind of records to which contacts are linked. */
export type LinkedKind = Resource & { link: Link; linkTable: string };

type LinkRow = { id: string; record_id: string; subject_id: string; is_active: boolean };

export function linkedKinds(): LinkedKind[] {
  return kindsOfContacts().filter((resource): resource is LinkedKind => resource.link !== undefined);
}

/** The active and suspended links of contacts: active ones first, then the oldest. */
export function linksOf(
  source: Sql,
  { link: { isSuspendable }, linkTable }: LinkedKind,
  organizationId: string,
  contactIds: readonly string[],
): Promise<LinkRow[]> {
  const stands = isSuspendable ? '(ended_at IS NULL OR suspended_by IS NOT NULL)' : 'ended_at IS NULL';
  return source.query(
    `SELECT id, record_id, subject_id, ended_at IS NULL AS is_active FROM ${linkTable}
     WHERE organization_id = $1 AND subject_id = ANY ($2::uuid[]) AND ${stands}
     ORDER BY is_active DESC, created_at, id`,
    [organizationId, contactIds],
  );
}
