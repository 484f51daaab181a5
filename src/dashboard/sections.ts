import { type Person } from './people.js';

type Place = { path: string; needs: string | null; isThere?: (person: Person) => boolean };

/** The sections of the dashboard in display order, with the scope that each requires. */
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
  // Emails contain sign-in links for others, so reading them requires an owner's permissions.
  outbox: { path: 'outbox', needs: '*', isThere: ({ hasOutbox }) => hasOutbox },
  history: { path: 'history', needs: 'history:read' },
  workings: { path: 'workings', needs: 'history:read' },
} as const satisfies Record<string, Place>;

export type Section = keyof typeof SECTIONS;

/** Whether a person may see a section. */
export function isOpenTo(person: Person, section: Section): boolean {
  const { needs, isThere }: Place = SECTIONS[section];
  return (needs === null || person.may(needs)) && isThere?.(person) !== false;
}
