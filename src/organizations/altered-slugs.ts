import { type Sql } from '#libs/database';
import { schemaOf } from '#libs/projections';
import { organizationsProjection } from './organizations.projection.js';

/**
 * Slugs of organizations that lead elsewhere or nowhere. An organization reserves its slug before the event, and keeps it for a year
 * after it chose another one.
 *
 * @returns what is wrong, in one sentence; undefined if nothing is.
 */
export async function findAlteredSlugs(sql: Sql): Promise<string | undefined> {
  const [row] = await sql.query<{ id: string; slug: string }[]>(
    `SELECT o.id, o.state->>'slug' AS slug FROM ${schemaOf(organizationsProjection)}.organizations o
     WHERE o.state->>'slug' IS NOT NULL AND NOT EXISTS (
       SELECT FROM organization_slugs s WHERE s.slug = o.state->>'slug' AND s.organization_id = o.id)
     LIMIT 1`,
  );
  return row && `The slug ${row.slug} of organization ${row.id} does not lead to it.`;
}
