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

/** Caches the names of organizations, which every dashboard page shows. */
@Injectable()
export class OrganizationNames {
  private readonly cache = new Map<string, { name: string; until: number }>();

  constructor(private readonly source: DataSource) {}

  /** Undefined if the organization does not exist. */
  async find(organizationId: string): Promise<string | undefined> {
    const cached = this.cache.get(organizationId);
    if (cached && cached.until > performance.now()) return cached.name;
    const [row] = await this.source.query<{ name: string }[]>(
      `SELECT name FROM ${TABLE} WHERE organization_id = $1 AND id = $1`,
      [organizationId],
    );
    if (row) this.keep(organizationId, row.name);
    return row?.name;
  }

  /** Sets the new name, because the projection may lag. */
  keep(organizationId: string, name: string): void {
    if (this.cache.size >= MAX_CACHED) this.cache.clear();
    this.cache.set(organizationId, { name, until: performance.now() + CACHE_MS });
  }
}
