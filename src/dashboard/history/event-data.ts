import { html, type Html } from '#libs/pages';
import { isId } from '#libs/rpc';
import { type EventRecord } from '../../history/index.js';
import { Facts, numberIn, timeIn } from '../parts.js';
import { fieldIn } from '../activity-log.js';
import { places, sectionOf, shownKinds } from '../sections.js';
import { type PageContext } from '../page-context.js';

type EventData = NonNullable<EventRecord['data']>;

/** Kinds that users see as part of the organization. */
const OF_ORGANIZATION = ['organization', 'sender', 'public-log'];

/** Event fields that contain the id of a record, with its kind: `contactId`, `apiKeyId`. */
const namedKinds = (): Record<string, string> => ({
  ...Object.fromEntries(shownKinds().map((kind) => [`${camelCase(kind)}Id`, kind])),
  successorId: 'api-key',
});

/** Limits of the characters and list items shown. The JSON below contains everything. */
const LONGEST = 400;
const MAX_PARTS = 20;

export function pageOfRecord(
  { person, address }: PageContext,
  recordType: string,
  recordId: string,
): string | undefined {
  if (OF_ORGANIZATION.includes(recordType)) return address.path(places().organization!.path);
  const section = sectionOf(recordType);
  if (!section) return undefined;
  const { path, needs } = places()[section]!;
  const scope = recordType === 'member' ? 'team:write' : needs;
  return scope !== null && !person.may(scope) ? undefined : address.path(`${path}/${recordId}`);
}

/**
 * The data of an event, field by field.
 *
 * @param customFields the names of custom fields, by their ids.
 */
export function DataOf(
  context: PageContext,
  data: EventData,
  customFields: ReadonlyMap<string, string> = new Map(),
): Html {
  const { customFields: values, ...others } = data;
  const ofFields = Object.entries((values ?? {}) as EventData).map(([id, value]) => ({
    name: customFields.get(id) ?? `${fieldIn(context.words, 'customFields')}: ${id}`,
    value: ValueOf(context, 'customFields', value),
  }));
  return Facts([
    ...Object.entries(others).map(([name, value]) => ({
      name: fieldIn(context.words, name),
      value: ValueOf(context, name, value),
    })),
    ...ofFields,
  ]);
}

function ValueOf(context: PageContext, name: string, value: EventData[string]): Html | string | null {
  const { words } = context;
  if (value === null) return null;
  if (typeof value === 'boolean') return value ? words.yes : words.no;
  if (typeof value === 'number') return numberIn(words, value);
  if (typeof value === 'string') return TextOf(context, name, value);
  if (Array.isArray(value) && value.every((part) => typeof part !== 'object')) {
    const shown = value.slice(0, MAX_PARTS).join(', ');
    const rest = value.length - MAX_PARTS;
    return rest > 0 ? words.history.event.andMore(shown, numberIn(words, rest)) : shortened(shown);
  }
  return html`<code>${shortened(JSON.stringify(value))}</code>`;
}

function TextOf(context: PageContext, name: string, text: string): Html | string {
  const kind = namedKinds()[name];
  if (kind !== undefined && isId(text)) {
    const page = pageOfRecord(context, kind, text);
    return page === undefined ? text : html`<a href="${page}">${text}</a>`;
  }
  if (name === 'eventId' && isId(text)) {
    return html`<a href="${context.address.path(`history/events/${text}`)}">${text}</a>`;
  }
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(text)
    ? timeIn(context.words, text)
    : shortened(text);
}

function shortened(text: string): string {
  return text.length > LONGEST ? `${text.slice(0, LONGEST)} …` : text;
}

function camelCase(kind: string): string {
  return kind.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}
