import { broadcastPages } from './broadcasts/pages.js';
import { duplicatePage } from './contacts/duplicate-pages.js';
import { importPages } from './contacts/import-pages.js';
import { contactPages } from './contacts/pages.js';
import { customFieldPages } from './custom-fields/pages.js';
import { formPages } from './forms/pages.js';
import { historyPages } from './history/pages.js';
import { homePages } from './home-pages.js';
import { imagePages } from './images/pages.js';
import { keyPages } from './keys/pages.js';
import { forEachGroupOfContacts } from '../contacts/index.js';
import { pagesOfGroups } from './lists/pages.js';
import { organizationPages } from './organization/pages.js';
import { notificationPages } from './notifications/pages.js';
import { outboxPages } from './outbox/pages.js';
import { type PageDefinition } from './page.js';
import { petitionPages } from './petitions/pages.js';
import { postPages } from './posts/pages.js';
import { publishableKeyPages } from './publishable-keys/pages.js';
import { searchPages } from './search-pages.js';
import { segmentPages } from './segments/pages.js';
import { styleGuidePage } from './style-guide.js';
import { suppressionPages } from './suppressions/pages.js';
import { teamPages } from './team/pages.js';
import { viewPages } from './views/pages.js';
import { webhookPages } from './webhooks/pages.js';
import { systemStatusPages } from './status/pages.js';

/** All pages of an organization. Add new pages here, and their permissions to the table in `test/dashboard-pages.ts`. */
export const PAGES: PageDefinition[] = [
  ...homePages,
  ...searchPages,
  ...petitionPages,
  ...formPages,
  ...contactPages,
  duplicatePage,
  ...importPages,
  ...customFieldPages,
  ...segmentPages,
  ...broadcastPages,
  ...postPages,
  ...imagePages,
  ...suppressionPages,
  ...viewPages,
  ...teamPages,
  ...notificationPages,
  ...organizationPages,
  ...keyPages,
  ...publishableKeyPages,
  ...webhookPages,
  ...outboxPages,
  ...historyPages,
  ...systemStatusPages,
  styleGuidePage,
];

const ID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
const IDS = new RegExp(`(?<=/|^)${ID}(?=/|$)`, 'gi');

/** Pages by their path with each id replaced by a colon. Finds a page in constant time. */
const shapeOf = ({ path }: PageDefinition) => path.replace(/:\w+/g, ':');
const BY_SHAPE = new Map(PAGES.map((page) => [shapeOf(page), page]));

forEachGroupOfContacts((group) => {
  for (const page of pagesOfGroups(group)) {
    PAGES.push(page);
    BY_SHAPE.set(shapeOf(page), page);
  }
});

/** @param below the address relative to the organization. */
export function findPage(
  below: string,
): { page: PageDefinition; params: Record<string, string> } | undefined {
  const path = below.replace(/^\/|\/$/g, '');
  // In the map's keys, a colon stands for an id. Real addresses contain none.
  if (path.includes(':')) return undefined;
  const page = BY_SHAPE.get(path.replace(IDS, ':'));
  if (!page) return undefined;
  const ids = path.match(IDS) ?? [];
  const names = [...page.path.matchAll(/:(\w+)/g)].map(([, name]) => name!);
  return { page, params: Object.fromEntries(names.map((name, n) => [name, ids[n]!.toLowerCase()])) };
}

const PATHS: [RegExp, string][] = [
  [/^\/dashboard(\/sign-in|\/sign-out|\/account)?\/?$/, '/dashboard$1'],
  [/^\/dashboard\/(sign-in|invitations)\/[^/]+$/, '/dashboard/$1/:token'],
  [/^\/dashboard\/notifications\/[^/]+\/[^/]+$/, '/dashboard/notifications/:notification/:token'],
  [/^\/dashboard\/(passkey|account\/passkeys)$/, '/dashboard/$1'],
  [/^\/dashboard\/account\/passkeys\/[^/]+$/, '/dashboard/account/passkeys/:passkey'],
  [/^\/dashboard\/account\/sessions\/[^/]+\/end$/, '/dashboard/account/sessions/:session/end'],
  [/^\/dashboard\/scripts\/[a-z-]+\.js$/, '/dashboard/scripts/:name'],
];
const OF_ORGANIZATION = new RegExp(`^/dashboard/${ID}(?<below>/.*)?$`, 'i');

/** The route in logs and metrics. Never contains ids or tokens. */
export function nameOfDashboardPath(path: string): string | undefined {
  for (const [pattern, name] of PATHS) if (pattern.test(path)) return path.replace(pattern, name);
  const below = OF_ORGANIZATION.exec(path);
  const found = below && findPage(below.groups!.below ?? '');
  if (found) return `/dashboard/:organization${found.page.path === '' ? '' : `/${found.page.path}`}`;
  return path.startsWith('/dashboard/') ? '/dashboard/…' : undefined;
}
