import { html, type Html } from '#libs/pages';
import { type Resource, Resources } from '#libs/resources';
import { isId } from '#libs/rpc';
import { kindsOfContacts } from '../contacts/index.js';
import { type ActivityEvent } from '../history/index.js';
import { type PageContext } from './page-context.js';
import { places, sectionOf } from './sections.js';

/** Records of each kind shown on a contact's page. */
const LIMIT = 50;

/** The kinds of records that contacts belong to, as far as the viewer may see them. */
export function kindsIn(context: PageContext): Resource[] {
  return kindsOfContacts().filter(({ object }) => context.may(`${object}:read`));
}

function linkTo(
  context: PageContext,
  { object }: Resource,
  { id, name }: { id: string; name: string },
): Html {
  return html`<a href="${context.path(`${places()[sectionOf(object)!]!.path}/${id}`)}">${name}</a>`;
}

/** The newest lists, tags and petitions of a contact that the viewer may see. */
export function belongingOf(
  context: PageContext,
  contactId: string,
): Promise<{ kind: string; links: Html[]; hasMore: boolean }[]> {
  const linked = kindsIn(context).filter(({ linkTable }) => linkTable !== undefined);
  return Promise.all(
    linked.map(async (kind) => {
      const found = await context
        .find(Resources)
        .linkedWith(kind, context.organizationId, contactId, LIMIT + 1);
      const links = found.slice(0, LIMIT).map((record) => linkTo(context, kind, record));
      return { kind: kind.object, links, hasMore: found.length > LIMIT };
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
  const named = ({ data }: ActivityEvent, { idField }: Resource): string | undefined => {
    const id = data?.[idField];
    return typeof id === 'string' && isId(id) && id !== recordId ? id : undefined;
  };
  const links = new Map<string, Html>();
  await Promise.all(
    kinds.map(async (kind) => {
      const ids = new Set(events.map((event) => named(event, kind)).filter((id) => id !== undefined));
      if (ids.size === 0) return;
      const found = await context.find(Resources).named(kind, context.organizationId, [...ids]);
      for (const record of found) links.set(record.id, linkTo(context, kind, record));
    }),
  );
  return (event) => kinds.map((kind) => links.get(named(event, kind) ?? '')).find((link) => link);
}
