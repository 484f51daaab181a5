import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { schemaOf } from '#libs/projections';
import { organizationsProjection } from './organizations.projection.js';

const TABLE = `${schemaOf(organizationsProjection)}.organizations`;
/** For so long an instance says the name that an organization had: who changes it is at one of them, and sees the new one at once. */
const KEPT_MS = 5_000;
const MOST_KEPT = 10_000;

/** What organizations are called: each page of the dashboard says it. */
@Injectable()
export class OrganizationNames {
  private readonly kept = new Map<string, { name: string; until: number }>();

  constructor(private readonly source: DataSource) {}

  /** Undefined where there is no such organization. */
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

  /** What it is called from now on: the read model may be a moment behind. */
  keep(organizationId: string, name: string): void {
    if (this.kept.size >= MOST_KEPT) this.kept.clear();
    this.kept.set(organizationId, { name, until: performance.now() + KEPT_MS });
  }
}
