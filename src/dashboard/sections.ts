import { groupsOfContacts } from '../contacts/index.js';
import { type Person } from './people.js';

/** @property shows the kind of record whose pages are below `path`. */
type Place = { path: string; needs: string | null; shows?: string; isThere?: (person: Person) => boolean };

// Emails contain sign-in links for others, so reading them requires an owner's permissions.
export const OUTBOX = { path: 'outbox', needs: '*', isThere: ({ hasOutbox }: Person) => hasOutbox };

const FIRST: Record<string, Place> = {
  overview: { path: '', needs: null },
  petitions: { path: 'petitions', needs: 'petition:read', shows: 'petition' },
  forms: { path: 'forms', needs: 'form:read', shows: 'form' },
  contacts: { path: 'contacts', needs: 'contact:read', shows: 'contact' },
};

const AFTER_GROUPS: Record<string, Place> = {
  customFields: { path: 'fields', needs: 'field:read', shows: 'field' },
  segments: { path: 'segments', needs: 'segment:read', shows: 'segment' },
  broadcasts: { path: 'broadcasts', needs: 'broadcast:read', shows: 'broadcast' },
  suppressions: { path: 'suppressions', needs: 'suppression:read' },
  posts: { path: 'posts', needs: 'post:read', shows: 'post' },
  images: { path: 'images', needs: 'image:read', shows: 'image' },
  team: { path: 'team', needs: 'team:read', shows: 'member' },
  organization: { path: 'organization', needs: 'organization:read' },
  keys: { path: 'keys', needs: 'api-key:read', shows: 'api-key' },
  publishableKeys: { path: 'publishable-keys', needs: 'api-key:read', shows: 'publishable-key' },
  webhooks: { path: 'webhooks', needs: 'webhook:read', shows: 'webhook' },
  outbox: OUTBOX,
  history: { path: 'history', needs: 'history:read' },
  systemStatus: { path: 'workings', needs: 'history:read' },
};

/** Of a section, the key of its place and of its texts: `lists`. */
export type Section = string;

/** The sections of the dashboard in display order, with the scope that each requires. */
export function places(): Record<Section, Place> {
  const groups = groupsOfContacts().map(({ kind }) => [
    `${kind}s`,
    { path: `${kind}s`, needs: `${kind}:read`, shows: kind },
  ]);
  return { ...FIRST, ...(Object.fromEntries(groups) as Record<string, Place>), ...AFTER_GROUPS };
}

/** The kinds of records that have pages. */
export function shownKinds(): string[] {
  return Object.values(places()).flatMap(({ shows }) => shows ?? []);
}

/** Whether a person may see a section. */
export function isOpenTo(person: Person, { needs, isThere }: Place): boolean {
  return (needs === null || person.may(needs)) && isThere?.(person) !== false;
}

/** The section with the pages of a kind of record, by the type of its stream. Undefined if it has none. */
export function sectionOf(kind: string): Section | undefined {
  return Object.entries(places()).find(([, { shows }]) => shows === kind)?.[0];
}

/** The section for a service of the API, or of its scopes: visitors sign petitions with `signature:request`. */
export function sectionAbout(service: string): Section | undefined {
  const about = service === 'signature' ? 'petition' : service;
  return Object.entries(places()).find(([, { needs }]) => needs?.startsWith(`${about}:`))?.[0];
}
