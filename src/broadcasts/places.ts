import { Injectable } from '@nestjs/common';
import { ReadSource } from '#libs/database';
import { schemaOf } from '#libs/projections';
import { contactsProjection } from '../contacts/index.js';

const CONTACTS = `${schemaOf(contactsProjection)}.contacts`;
/** Maximum places listed. Others can be entered by hand. */
const MAX_PLACES = 300;

/** Countries and cities of an organization's contacts, as entered. Audiences compare them exactly. */
@Injectable()
export class Places {
  constructor(private readonly reads: ReadSource) {}

  countries(organizationId: string): Promise<string[]> {
    return this.of(organizationId, 'country');
  }

  cities(organizationId: string): Promise<string[]> {
    return this.of(organizationId, 'city');
  }

  /**
   * Skips from one place to the next in the index, so the time depends on the number of places, not of
   * contacts.
   */
  private async of(organizationId: string, column: 'country' | 'city'): Promise<string[]> {
    const after = (which: string) =>
      `(SELECT ${column} FROM ${CONTACTS} WHERE organization_id = $1 AND ${column} ${which} ORDER BY ${column} LIMIT 1)`;
    const rows = await this.reads.query<{ place: string }[]>(
      `WITH RECURSIVE places AS (
         SELECT ${after('IS NOT NULL')} AS place
         UNION ALL
         SELECT ${after('> places.place')} FROM places WHERE places.place IS NOT NULL
       )
       SELECT place FROM places WHERE place IS NOT NULL LIMIT ${MAX_PLACES}`,
      [organizationId],
    );
    return rows.map(({ place }) => place);
  }
}
