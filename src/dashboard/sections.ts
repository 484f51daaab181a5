import { type Person } from './people.js';

/** @property shows the kind of record whose pages are below `path`. */
type Place = { path: string; needs: string | null; shows?: string; isThere?: (person: Person) => boolean };

/** The sections of the dashboard in display order, with the scope that each requires. */
export const SECTIONS = {
  overview: { path: '', needs: null },
  petitions: { path: 'petitions', needs: 'petition:read', shows: 'petition' },
  contacts: { path: 'contacts', needs: 'contact:read', shows: 'contact' },
  lists: { path: 'lists', needs: 'list:read', shows: 'list' },
  tags: { path: 'tags', needs: 'tag:read', shows: 'tag' },
  customFields: { path: 'fields', needs: 'field:read', shows: 'field' },
  segments: { path: 'segments', needs: 'segment:read', shows: 'segment' },
  broadcasts: { path: 'broadcasts', needs: 'broadcast:read', shows: 'broadcast' },
  suppressions: { path: 'suppressions', needs: 'suppression:read' },
  posts: { path: 'posts', needs: 'post:read', shows: 'post' },
  images: { path: 'images', needs: 'image:read', shows: 'image' },
  team: { path: 'team', needs: 'team:read', shows: 'member' },
  organization: { path: 'organization', needs: 'organization:read' },
  keys: { path: 'keys', needs: 'api-key:read', shows: 'api-key' },
  webhooks: { path: 'webhooks', needs: 'webhook:read', shows: 'webhook' },
  // Emails contain sign-in links for others, so reading them requires an owner's permissions.
  outbox: { path: 'outbox', needs: '*', isThere: ({ hasOutbox }) => hasOutbox },
  history: { path: 'history', needs: 'history:read' },
  systemStatus: { path: 'workings', needs: 'history:read' },
} as const satisfies Record<string, Place>;

export type Section = keyof typeof SECTIONS;
const PLACES = Object.entries(SECTIONS) as [Section, Place][];

/** The kinds of records that have pages. */
export const SHOWN_KINDS = PLACES.map(([, { shows }]) => shows).filter((kind) => kind !== undefined);

/** Whether a person may see a section. */
export function isOpenTo(person: Person, section: Section): boolean {
  const { needs, isThere }: Place = SECTIONS[section];
  return (needs === null || person.may(needs)) && isThere?.(person) !== false;
}

/** The section with the pages of a kind of record, by the type of its stream. Undefined if it has none. */
export function sectionOf(kind: string): Section | undefined {
  return PLACES.find(([, { shows }]) => shows === kind)?.[0];
}

/** The section for a service of the API. */
export function sectionAbout(service: string): Section | undefined {
  return PLACES.find(([, { needs }]) => needs?.startsWith(`${service}:`))?.[0];
}
