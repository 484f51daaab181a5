import { groupsOfContacts } from '../contacts/index.js';
import { type DashboardWords } from '#locales';
import { type Person } from './people.js';

/** @property shows the kind of record whose pages are below `path`. */
type Place = { path: string; needs: string | null; shows?: string; isThere?: (person: Person) => boolean };

// Emails contain sign-in links for others, so reading them requires an owner's permissions.
export const OUTBOX = { path: 'outbox', needs: '*', isThere: ({ hasOutbox }: Person) => hasOutbox };

/** Kinds of records that group contacts (lists, tags, …) have a place of their own. */
function groups(): Record<Section, Place> {
  const each = groupsOfContacts().map(({ kind }): [Section, Place] => [
    `${kind}s`,
    { path: `${kind}s`, needs: `${kind}:read`, shows: kind },
  ]);
  return Object.fromEntries(each);
}

/** Of a section, the key of its place and of its texts: `lists`. */
export type Section = string;

/** The texts of every section that lists records. */
type SectionTexts = {
  title: string;
  text: string;
  none: { title: string; text: string };
  search?: string;
  add: string;
  statuses: Record<string, string>;
  deleting: { title: (name: string) => string; text: string; button: (name: string) => string };
};

export function textsIn(words: DashboardWords, section: Section): SectionTexts {
  return (words as unknown as Record<Section, SectionTexts>)[section]!;
}

/** A group of sections, the key of its title. */
type NavigationGroup = keyof DashboardWords['groups'];

/** The navigation: its groups, with the sections of each in display order. */
export function navigation(): { group: NavigationGroup | null; sections: Record<Section, Place> }[] {
  return [
    {
      group: null,
      sections: { overview: { path: '', needs: null }, search: { path: 'search', needs: null } },
    },
    {
      group: 'campaigns',
      sections: {
        petitions: { path: 'petitions', needs: 'petition:read', shows: 'petition' },
        posts: { path: 'posts', needs: 'post:read', shows: 'post' },
        forms: { path: 'forms', needs: 'form:read', shows: 'form' },
        images: { path: 'images', needs: 'image:read', shows: 'image' },
      },
    },
    {
      group: 'people',
      sections: {
        contacts: { path: 'contacts', needs: 'contact:read', shows: 'contact' },
        segments: { path: 'segments', needs: 'segment:read', shows: 'segment' },
        ...groups(),
        customFields: { path: 'fields', needs: 'field:read', shows: 'field' },
      },
    },
    {
      group: 'email',
      sections: {
        broadcasts: { path: 'broadcasts', needs: 'broadcast:read', shows: 'broadcast' },
        suppressions: { path: 'suppressions', needs: 'suppression:read' },
        outbox: OUTBOX,
      },
    },
    {
      group: 'settings',
      sections: {
        organization: { path: 'organization', needs: 'organization:read' },
        views: { path: 'views', needs: 'view:read', shows: 'view' },
        team: { path: 'team', needs: 'team:read', shows: 'member' },
        notifications: { path: 'notifications', needs: 'notification:read' },
        keys: { path: 'keys', needs: 'api-key:read', shows: 'api-key' },
        publishableKeys: { path: 'publishable-keys', needs: 'api-key:read', shows: 'publishable-key' },
        webhooks: { path: 'webhooks', needs: 'webhook:read', shows: 'webhook' },
        systemStatus: { path: 'workings', needs: 'history:read' },
        history: { path: 'history', needs: 'history:read' },
      },
    },
  ];
}

export function places(): Record<Section, Place> {
  return Object.assign({}, ...navigation().map(({ sections }) => sections)) as Record<Section, Place>;
}

/** The kinds of records that have pages. */
export function shownKinds(): string[] {
  return Object.values(places()).flatMap(({ shows }) => shows ?? []);
}

export function isOpenTo(person: Person, { needs, isThere }: Place): boolean {
  return (needs === null || person.may(needs)) && isThere?.(person) !== false;
}

/** The section with the pages of a kind of record, by the type of its stream. Undefined if it has none. */
export function sectionOf(kind: string): Section | undefined {
  return Object.entries(places()).find(([, { shows }]) => shows === kind)?.[0];
}

/** Services whose records are on the pages of others. Visitors sign petitions with `signature:request`. */
const PART_OF: Record<string, string> = { signature: 'petition', note: 'contact' };

/** The section for a service of the API, or of its scopes. */
export function sectionAbout(service: string): Section | undefined {
  const about = PART_OF[service] ?? service;
  return Object.entries(places()).find(([, { needs }]) => needs?.startsWith(`${about}:`))?.[0];
}
