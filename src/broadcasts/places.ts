import { Injectable } from '@nestjs/common';
import { ReadSource } from '#libs/database';
import { schemaOf } from '#libs/projections';
import { contactsProjection } from '../contacts/index.js';

const CONTACTS = `${schemaOf(contactsProjection)}.contacts`;
/** More than anybody looks through; who lives elsewhere can be written down. */
const MOST = 300;

/** Where the contacts of an organization live, as it is written down: audiences compare it letter by letter. */
@Injectable()
export class Places {
  constructor(private readonly reads: ReadSource) {}

  countries(organizationId: string): Promise<string[]> {
    return this.of(organizationId, 'country');
  }

  cities(organizationId: string): Promise<string[]> {
    return this.of(organizationId, 'city');
  }

  /** From one to the next in the index: it takes as long as there are places, however many live there. */
  private async of(organizationId: string, column: 'country' | 'city'): Promise<string[]> {
    const after = (which: string) =>
      `(SELECT ${column} FROM ${CONTACTS} WHERE organization_id = $1 AND ${column} ${which} ORDER BY ${column} LIMIT 1)`;
    const rows = await this.reads.query<{ place: string }[]>(
      `WITH RECURSIVE places AS (
         SELECT ${after('IS NOT NULL')} AS place
         UNION ALL
         SELECT ${after('> places.place')} FROM places WHERE places.place IS NOT NULL
       )
       SELECT place FROM places WHERE place IS NOT NULL LIMIT ${MOST}`,
      [organizationId],
    );
    return rows.map(({ place }) => place);
  }
}
