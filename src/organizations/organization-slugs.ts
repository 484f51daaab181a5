import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { RpcError } from '#libs/rpc';
import { RESERVED_SLUGS } from './reserved-slugs.js';

/** For this long, a previous slug redirects to the current one and is reserved. */
const REDIRECTS_FOR = "interval '1 year'";
/** Per organization; the oldest ones are released first. */
const MAX_PREVIOUS = 20;

/**
 * The slugs of organizations, with which the paths of their pages begin. A slug belongs to one of all
 * organizations, so they are in a table next to the history, whose events decide which is current. If a
 * process crashes between reserving a slug and storing the event, the organization keeps the slug until it
 * reserves another.
 */
@Injectable()
export class OrganizationSlugs {
  constructor(private readonly source: DataSource) {}

  /** Runs before the event is stored. @throws RpcError CONFLICT if another organization has the slug, or had it within a year. */
  async take(organizationId: string, slug: string): Promise<void> {
    const rows = await this.source.query<unknown[]>(
      `INSERT INTO organization_slugs AS s (slug, organization_id) VALUES ($1, $2)
       ON CONFLICT (slug) DO UPDATE SET organization_id = excluded.organization_id, left_at = NULL
       WHERE s.organization_id = excluded.organization_id OR s.left_at < clock_timestamp() - ${REDIRECTS_FOR}
       RETURNING slug`,
      [slug, organizationId],
    );
    if (rows.length > 0) return;
    throw new RpcError(
      'CONFLICT',
      `The slug ${slug} belongs to another organization, or did within the past year. Choose another slug.`,
      { reason: 'SLUG_TAKEN' },
    );
  }

  /** Runs after the event: all previous slugs now redirect to it. */
  async settle(organizationId: string, slug: string | null): Promise<void> {
    await this.source.query(
      `UPDATE organization_slugs SET left_at = clock_timestamp()
       WHERE organization_id = $1 AND slug IS DISTINCT FROM $2 AND left_at IS NULL`,
      [organizationId, slug],
    );
    await this.source.query(
      `DELETE FROM organization_slugs WHERE organization_id = $1 AND slug IN (
         SELECT slug FROM organization_slugs WHERE organization_id = $1 AND left_at IS NOT NULL
         ORDER BY left_at DESC, slug OFFSET $2)`,
      [organizationId, MAX_PREVIOUS],
    );
  }

  /** The organization with this slug, now or within the past year. */
  async find(slug: string): Promise<string | undefined> {
    const [row] = await this.source.query<{ organization_id: string }[]>(
      `SELECT organization_id FROM organization_slugs
       WHERE slug = $1 AND (left_at IS NULL OR left_at > clock_timestamp() - ${REDIRECTS_FOR})`,
      [slug],
    );
    return row?.organization_id;
  }
}

export function isReserved(slug: string): boolean {
  return RESERVED_SLUGS.has(slug);
}
