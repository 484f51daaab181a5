import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { schemaOf } from '#libs/projections';
import { organizationsProjection } from './organizations.projection.js';

const TABLE = `${schemaOf(organizationsProjection)}.organizations`;
/**
 * How long an instance may show a previous name. The instance that changes the name shows the new one
 * immediately.
 */
const KEPT_MS = 5_000;
const MOST_KEPT = 10_000;

/** Caches the names of organizations, which every dashboard page shows. */
@Injectable()
export class OrganizationNames {
  private readonly kept = new Map<string, { name: string; until: number }>();

  constructor(private readonly source: DataSource) {}

  /** Undefined if the organization does not exist. */
  async find(organizationId: string): Promise<string | undefined> {
    const kept = this.kept.get(organizationId);
    if (kept && kept.until > performance.now()) return kept.name;
    const [row] = await this.source.query<{ name: string }[]>(
      `SELECT name FROM ${TABLE} WHERE organization_id = $1 AND id = $1`,
      [organizationId],
    );
    if (row) this.keep(organizationId, row.name);
    return row?.name;
  }

  /** Sets the new name, because the projection may lag. */
  keep(organizationId: string, name: string): void {
    if (this.kept.size >= MOST_KEPT) this.kept.clear();
    this.kept.set(organizationId, { name, until: performance.now() + KEPT_MS });
  }
}
