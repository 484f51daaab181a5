import { html, type Page } from '#libs/pages';
import { allScopes, hasScope, noSuch, RpcError } from '#libs/rpc';
import { type DashboardWords } from '#locales';
import { type ApiKeyRecord } from '../../auth/index.js';
import { PublicAddress } from '../../config/index.js';
import { scopesOf } from '../../team/index.js';
import { type PageDefinition } from '../page.js';
import {
  ButtonLink,
  ChoiceField,
  dateIn,
  Actions,
  BadgeOf,
  Facts,
  fieldsFor,
  SecretField,
  SelectField,
  TextForm,
  timeIn,
} from '../parts.js';
import { recordPages } from '../record-pages.js';
import { type PageContext } from '../page-context.js';
import { sectionAbout } from '../sections.js';

const DEFAULT_RATE = 10;
/** A choice that is not a scope: everything may be read. */
const READ_ALL = '*:read';
/** Seconds, within the limit of the operation. */
const OVERLAPS = ['0', '3600', '86400'];

const keys = recordPages<ApiKeyRecord>({
  section: 'keys',
  record: 'api-key',
  param: 'key',
  find: findKey,
});

export const keyPages: PageDefinition[] = [
  ...keys.list({
    columns: [
      keys.titleColumn(),
      { name: ({ keys }) => keys.begins, cell: ({ prefix }) => prefix },
      {
        name: ({ state }) => state,
        cell: (key, { words }) => stateOf(words, key),
        badge: toneOf,
        isObvious: true,
      },
      { name: ({ keys }) => keys.lastUsed, cell: ({ lastUsedAt }, { words }) => usedIn(words, lastUsedAt) },
    ],
  }),
  keys.adding({
    content: ({ words, form, person }) => {
      const { fields, button } = words.keys;
      const own = scopesOf(person.organization.role);
      const scopes = allScopes().filter((scope) => hasScope(own, scope));
      const { text, optionalText } = fieldsFor(form, fields);
      const written = [
        text('name', { max: 200 }),
        ChoiceField(form, {
          name: 'scopes',
          label: fields.scopes,
          isMany: true,
          choices: [
            { value: READ_ALL, text: words.keys.everythingRead },
            ...scopes.map((value) => ({
              value,
              text: scopeIn(words, value),
              ...(value === '*' ? {} : { group: whatOf(words, value) }),
            })),
          ],
        }),
        text('rateLimit', { type: 'number', value: String(DEFAULT_RATE) }),
        optionalText('expiresAt', { hint: fields.expiresHint, type: 'datetime-local' }),
      ];
      return TextForm(form, { fields: written, button });
    },
    input: (context) => {
      const expiresAt = context.form.typed('expiresAt');
      return {
        ...namedIn(context),
        rateLimit: Number(context.form.typed('rateLimit') ?? Number.NaN),
        expiresAt: expiresAt === null ? undefined : `${expiresAt.slice(0, 16)}:00Z`,
      };
    },
    created: (context, { key }) => shownOnce(context, { key: key ?? null, ...namedIn(context) }),
  }),
  keys.shown(({ words }, key, { mayWrite, link }) => {
    const { keys } = words;
    const mayEnd = isGood(key) && mayWrite;
    return html`<p>${BadgeOf(toneOf(key), stateOf(words, key))}</p>
    ${Actions([
      mayEnd && key.revokedAt === null && link('rotate', keys.rotate),
      mayEnd && link('revoke', keys.revoke),
    ])}
    ${Facts([
      { name: keys.begins, value: key.prefix },
      { name: keys.may, value: key.scopes.map((scope) => scopeIn(words, scope)).join(', ') },
      { name: keys.lastUsed, value: usedIn(words, key.lastUsedAt) },
      { name: words.since, value: dateIn(words, key.createdAt) },
      ...(key.expiresAt === null ? [] : [{ name: words.until, value: timeIn(words, key.expiresAt) }]),
    ])}`;
  }),
  keys.step('rotate', {
    ask: (context, key) => {
      const { title, text, button, overlap, overlaps } = context.words.keys.rotating;
      const choices = OVERLAPS.map((value) => ({ value, text: overlaps[value]! }));
      const field = { name: 'overlapSeconds', label: overlap, value: '86400', choices };
      return {
        back: keys.to(context, key),
        title: title(key.name),
        ...{ text, button, fields: [SelectField(context.form, field)] },
      };
    },
    act: async (context) => {
      const { name, scopes } = await keys.find(context);
      const made = await context.api.run<{ key: string | null }>('api-key.rotate-api-key', {
        apiKeyId: context.address.params.key,
        overlapSeconds: Number(context.form.typed('overlapSeconds') ?? 0),
      });
      return shownOnce(context, { ...made, name, scopes });
    },
  }),
  keys.step('revoke', {
    ask: ({ words }, { name }) => {
      const { title, text, button } = words.keys.revoking;
      return { title: title(name), text, button: button(name), isFinal: true };
    },
    ...{ done: 'revoked', all: true },
  }),
];

/** The name and the scopes that were ticked. `READ_ALL` stands for all scopes to read that the person has. */
function namedIn({ person, form }: PageContext) {
  const own = scopesOf(person.organization.role);
  const reads = allScopes().filter((scope) => scope.endsWith(':read') && hasScope(own, scope));
  const scopes = form.getAll('scopes').flatMap((scope) => (scope === READ_ALL ? reads : scope));
  return { name: form.typed('name') ?? '', scopes: [...new Set(scopes)] };
}

/** No operation returns a single key, so this searches all keys ever created. An organization has a few hundred at most. */
async function findKey({ address, api }: PageContext): Promise<ApiKeyRecord> {
  let cursor: string | undefined;
  do {
    const { records, pagination } = await api.run<{
      records: ApiKeyRecord[];
      pagination: { cursor: string | null };
    }>('api-key.list-api-keys', { limit: 100, cursor });
    const found = records.find(({ id }) => id === address.params.key);
    if (found) return found;
    cursor = pagination.cursor ?? undefined;
  } while (cursor !== undefined);
  throw noSuch('API key');
}

function isGood({ revokedAt, expiresAt }: ApiKeyRecord): boolean {
  return [revokedAt, expiresAt].every((end) => end === null || Date.parse(end) > Date.now());
}

function toneOf(key: ApiKeyRecord): string {
  return isGood(key) ? 'ACTIVE' : 'REVOKED';
}

/** A rotated key stays active until its `revokedAt`, which can be in the future. */
function stateOf(words: DashboardWords, key: ApiKeyRecord): string {
  const { keys } = words;
  const { revokedAt } = key;
  if (isGood(key)) return revokedAt === null ? keys.live : keys.liveUntil(timeIn(words, revokedAt));
  return revokedAt !== null && Date.parse(revokedAt) <= Date.now() ? keys.revoked : keys.expired;
}

function usedIn(words: DashboardWords, lastUsedAt: Date | null): string {
  return lastUsedAt === null ? words.keys.never : timeIn(words, lastUsedAt);
}

function whatOf({ keys, sections }: DashboardWords, scope: string): string {
  const [service = ''] = scope.split(':');
  const { services }: { services: Record<string, string> } = keys;
  return services[service] ?? sections[sectionAbout(service)!]!;
}

function scopeIn(words: DashboardWords, scope: string): string {
  const { keys } = words;
  if (scope === '*') return keys.everything;
  if (scope in keys.public) return keys.public[scope as keyof typeof keys.public];
  const [, right] = scope.split(':');
  const what = whatOf(words, scope);
  if (right === 'read') return keys.read(what);
  if (right === 'export') return keys.export(what);
  return right === 'send' ? keys.send(what) : keys.write(what);
}

/** List operations that are not named after their service. */
const LISTS: { readonly [service: string]: string } = {
  team: 'team.list-members',
  history: 'history.list-events',
};

/** An operation that the key may call; undefined if it has no read scope. */
function operationFor(scopes: readonly string[]): string | undefined {
  if (scopes.includes('*') || scopes.includes('organization:read')) return 'organization.get-organization';
  // A list of notes needs a contact.
  const service = scopes.find((scope) => scope.endsWith(':read') && scope !== 'note:read')?.split(':')[0];
  if (service === undefined) return undefined;
  return LISTS[service] ?? `${service}.list-${service}s`;
}

/** Shows the key only in the response to the form. No URL, list or log ever contains it. */
function shownOnce(
  { words, address, api, view }: PageContext,
  { key, name, scopes }: { key: string | null; name: string; scopes: readonly string[] },
): Page {
  const { keys } = words;
  if (key === null) throw new RpcError('BAD_REQUEST', keys.shownBefore);
  const operation = operationFor(scopes);
  const curl = `curl ${api.find(PublicAddress).url}/v1/${operation} -H 'Authorization: Bearer ${key}'`;
  return view.page({
    section: 'keys',
    title: keys.shown(name),
    content: html`<div class="text">
        <p class="lead" role="status">${keys.shownText}</p>
        ${SecretField(words, { name: 'key', label: keys.key, value: key })}
        ${operation === undefined ? null : html`<h2>${keys.try}</h2><pre class="code" tabindex="0">${curl}</pre>`}
      </div>
      <p>${ButtonLink(address, 'keys', keys.toKeys)}</p>`,
  });
}
