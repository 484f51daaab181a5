import { Injectable } from '@nestjs/common';
import { ReadSource } from '#libs/database';
import { CONTACTS_TABLE } from '../contacts.projection.js';
import { countryCode } from './countries.js';
import { withoutCase } from './folded-text.js';

/** Maximum places listed. Others can be entered by hand. */
const MAX_PLACES = 300;

/** Countries and cities of an organization's contacts, as entered, without those that differ only in case. */
@Injectable()
export class Places {
  constructor(private readonly reads: ReadSource) {}

  /** One spelling of each country. */
  async countries(organizationId: string): Promise<string[]> {
    const spellings = await this.of(organizationId, 'country');
    const byCountry = new Map(spellings.map((place) => [countryCode(place) ?? place, place]));
    return [...byCountry.values()];
  }

  cities(organizationId: string): Promise<string[]> {
    return this.of(organizationId, 'city');
  }

  /**
   * Skips from one place to the next in the index, so the time depends on the number of places, not of
   * contacts.
   */
  private async of(organizationId: string, column: 'country' | 'city'): Promise<string[]> {
    const folded = withoutCase(column);
    const first = (after: string) => `
      SELECT ${column}, ${folded} FROM ${CONTACTS_TABLE}
      WHERE organization_id = $1 AND ${column} IS NOT NULL${after} ORDER BY ${folded} LIMIT 1`;
    const rows = await this.reads.query<{ place: string }[]>(
      `WITH RECURSIVE places (place, folded) AS (
         (${first('')})
         UNION ALL
         SELECT next.* FROM places CROSS JOIN LATERAL (${first(` AND ${folded} > places.folded`)}) AS next
       )
       SELECT place FROM places LIMIT ${MAX_PLACES}`,
      [organizationId],
    );
    return rows.map(({ place }) => place);
  }
}
