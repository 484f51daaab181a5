import { html, type Html } from '#libs/pages';
import { type Resource, Resources } from '#libs/resources';
import { isId } from '#libs/rpc';
import { kindsOfContacts } from '../contacts/index.js';
import { type ActivityEvent } from '../history/index.js';
import { type Address, type PageContext } from './page-context.js';
import { places, sectionOf } from './sections.js';
import { type Member } from './people.js';

/** Records of each kind shown on a contact's page. */
const LIMIT = 50;

/** The kinds of records that contacts belong to, as far as the viewer may see them. */
export function kindsIn(person: Member): Resource[] {
  return kindsOfContacts().filter(({ object }) => person.may(`${object}:read`));
}

export function linkTo(
  address: Address,
  { object }: Resource,
  { id, name }: { id: string; name: string },
): Html {
  return html`<a href="${address.path(`${places()[sectionOf(object)!]!.path}/${id}`)}">${name}</a>`;
}

/** The newest lists, tags and petitions of a contact that the viewer may see. */
export function belongingOf(
  { person, api }: PageContext,
  contactId: string,
): Promise<{ kind: Resource; records: { id: string; name: string }[]; hasMore: boolean }[]> {
  const linked = kindsIn(person).filter(({ linkTable }) => linkTable !== undefined);
  return Promise.all(
    linked.map(async (kind) => {
      const found = await api.find(Resources).linkedWith(kind, api.organizationId, contactId, LIMIT + 1);
      return { kind, records: found.slice(0, LIMIT), hasMore: found.length > LIMIT };
    }),
  );
}

/**
 * The list, tag or petition that an event concerns in addition to the page's record. Undefined if there is none, if it was deleted, or
 * if the viewer may not see it. Needs one query per kind, however many events.
 */
export async function objectsOf(
  { person, address, api }: PageContext,
  recordId: string,
  events: readonly ActivityEvent[],
): Promise<(event: ActivityEvent) => Html | undefined> {
  const kinds = kindsIn(person);
  const named = ({ data }: ActivityEvent, { idField }: Resource): string | undefined => {
    const id = data?.[idField];
    return typeof id === 'string' && isId(id) && id !== recordId ? id : undefined;
  };
  const links = new Map<string, Html>();
  await Promise.all(
    kinds.map(async (kind) => {
      const ids = new Set(events.map((event) => named(event, kind)).filter((id) => id !== undefined));
      if (ids.size === 0) return;
      const found = await api.find(Resources).named(kind, api.organizationId, [...ids]);
      for (const record of found) links.set(record.id, linkTo(address, kind, record));
    }),
  );
  return (event) => kinds.map((kind) => links.get(named(event, kind) ?? '')).find((link) => link);
}
