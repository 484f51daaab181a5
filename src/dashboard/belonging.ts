import { html, type Html } from '#libs/pages';
import { Resources } from '#libs/resources';
import { isId } from '#libs/rpc';
import { type ActivityEvent } from '../history/index.js';
import { lists } from '../lists/index.js';
import { petitions } from '../petitions/index.js';
import { tags } from '../tags/index.js';
import { type PageContext } from './page-context.js';

/** The kinds of records that contacts belong to, each with its name column. */
const KINDS = [
  { section: 'lists', resource: lists, called: 'name' },
  { section: 'tags', resource: tags, called: 'name' },
  { section: 'petitions', resource: petitions, called: 'title' },
] as const;
type Kind = (typeof KINDS)[number];

/** Records of each kind shown on a contact's page. */
const MOST = 50;

function kindsIn(context: PageContext): Kind[] {
  return KINDS.filter(({ resource }) => context.may(`${resource.object}:read`));
}

function linkTo(context: PageContext, { section }: Kind, { id, name }: { id: string; name: string }): Html {
  return html`<a href="${context.path(`${section}/${id}`)}">${name}</a>`;
}

/** The newest lists, tags and petitions of a contact that the viewer may see. */
export function belongingOf(
  context: PageContext,
  contactId: string,
): Promise<{ section: Kind['section']; links: Html[]; hasMore: boolean }[]> {
  return Promise.all(
    kindsIn(context).map(async (kind) => {
      const found = await context
        .find(Resources)
        .linkedWith(kind.resource, context.organizationId, contactId, kind.called, MOST + 1);
      const links = found.slice(0, MOST).map((record) => linkTo(context, kind, record));
      return { section: kind.section, links, hasMore: found.length > MOST };
    }),
  );
}

/**
 * The list, tag or petition that an event concerns in addition to the page's record. Undefined if there is none, if it was deleted, or
 * if the viewer may not see it. Needs one query per kind, however many events.
 */
export async function objectsOf(
  context: PageContext,
  recordId: string,
  events: readonly ActivityEvent[],
): Promise<(event: ActivityEvent) => Html | undefined> {
  const kinds = kindsIn(context);
  const named = ({ data }: ActivityEvent, { resource }: Kind): string | undefined => {
    const id = data?.[resource.idField];
    return typeof id === 'string' && isId(id) && id !== recordId ? id : undefined;
  };
  const links = new Map<string, Html>();
  await Promise.all(
    kinds.map(async (kind) => {
      const ids = new Set(events.map((event) => named(event, kind)).filter((id) => id !== undefined));
      if (ids.size === 0) return;
      const found = await context
        .find(Resources)
        .named(kind.resource, context.organizationId, [...ids], kind.called);
      for (const record of found) links.set(record.id, linkTo(context, kind, record));
    }),
  );
  return (event) => kinds.map((kind) => links.get(named(event, kind) ?? '')).find((link) => link);
}
