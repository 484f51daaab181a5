import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { schemaOf } from '#libs/projections';
import { organizationsProjection } from './organizations.projection.js';

const TABLE = `${schemaOf(organizationsProjection)}.organizations`;
/**
 * How long an instance may show a previous name. The instance that changes the name shows the new one
 * immediately.
 */
const CACHE_MS = 5_000;
const MAX_CACHED = 10_000;

/** What every dashboard page shows of its organization. */
type Named = { name: string; colour: string | null };

/** Caches the names and colours of organizations, which every dashboard page shows. */
@Injectable()
export class OrganizationNames {
  private readonly cache = new Map<string, { named: Named; until: number }>();

  constructor(private readonly source: DataSource) {}

  /** Undefined if the organization does not exist. */
  async find(organizationId: string): Promise<Named | undefined> {
    const cached = this.cache.get(organizationId);
    if (cached && cached.until > performance.now()) return cached.named;
    const [row] = await this.source.query<Named[]>(
      `SELECT name, state ->> 'colour' AS colour FROM ${TABLE} WHERE organization_id = $1 AND id = $1`,
      [organizationId],
    );
    if (row) this.keep(organizationId, row);
    return row;
  }

  /** Sets the new name and colour, because the projection may lag. */
  keep(organizationId: string, named: Named): void {
    if (this.cache.size >= MAX_CACHED) this.cache.clear();
    this.cache.set(organizationId, { named, until: performance.now() + CACHE_MS });
  }
}
