import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { RpcError } from '#libs/rpc';
import { RESERVED_SLUGS } from './reserved-slugs.js';

/** For so long a slug that was left leads to the one of now, and belongs to nobody else. */
const LED_FOR = "interval '1 year'";
/** Of one organization; the oldest are free before. */
const MOST_LEFT = 20;

/**
 * What the addresses of an organization's pages begin with: one of all organizations has each, so they stand in a table beside the
 * history, whose events say which is meant. A slug that was taken and never got into the history, because somebody died in between,
 * is the organization's until it takes another.
 */
@Injectable()
export class OrganizationSlugs {
  constructor(private readonly source: DataSource) {}

  /** Before the event says so. @throws RpcError CONFLICT where another organization has it, or had it within a year. */
  async take(organizationId: string, slug: string): Promise<void> {
    const rows = await this.source.query<unknown[]>(
      `INSERT INTO organization_slugs AS s (slug, organization_id) VALUES ($1, $2)
       ON CONFLICT (slug) DO UPDATE SET organization_id = excluded.organization_id, left_at = NULL
       WHERE s.organization_id = excluded.organization_id OR s.left_at < clock_timestamp() - ${LED_FOR}
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

  /** After the event: all others lead to it from now on. */
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
      [organizationId, MOST_LEFT],
    );
  }

  /** The organization that is found by it, or was within a year. */
  async find(slug: string): Promise<string | undefined> {
    const [row] = await this.source.query<{ organization_id: string }[]>(
      `SELECT organization_id FROM organization_slugs
       WHERE slug = $1 AND (left_at IS NULL OR left_at > clock_timestamp() - ${LED_FOR})`,
      [slug],
    );
    return row?.organization_id;
  }
}

export function isReserved(slug: string): boolean {
  return RESERVED_SLUGS.has(slug);
}
