import { type Person } from './people.js';

type Place = { path: string; needs: string | null; isThere?: (person: Person) => boolean };

/** The parts of the dashboard, in their order, and what a role must be allowed to find them. */
export const SECTIONS = {
  overview: { path: '', needs: null },
  petitions: { path: 'petitions', needs: 'petition:read' },
  contacts: { path: 'contacts', needs: 'contact:read' },
  lists: { path: 'lists', needs: 'list:read' },
  tags: { path: 'tags', needs: 'tag:read' },
  broadcasts: { path: 'broadcasts', needs: 'broadcast:read' },
  suppressions: { path: 'suppressions', needs: 'suppression:read' },
  posts: { path: 'posts', needs: 'post:read' },
  images: { path: 'images', needs: 'image:read' },
  team: { path: 'team', needs: 'team:read' },
  organization: { path: 'organization', needs: 'organization:read' },
  keys: { path: 'keys', needs: 'api-key:read' },
  webhooks: { path: 'webhooks', needs: 'webhook:read' },
  // Mails let others in: whoever reads them may all that an owner may.
  outbox: { path: 'outbox', needs: '*', isThere: ({ hasOutbox }) => hasOutbox },
  history: { path: 'history', needs: 'history:read' },
  workings: { path: 'workings', needs: 'history:read' },
} as const satisfies Record<string, Place>;

export type Section = keyof typeof SECTIONS;

/** Whether somebody finds a part. */
export function isOpenTo(person: Person, section: Section): boolean {
  const { needs, isThere }: Place = SECTIONS[section];
  return (needs === null || person.may(needs)) && isThere?.(person) !== false;
}
