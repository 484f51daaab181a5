import { html, type Page } from '#libs/pages';
import { allScopes, hasScope, noSuch, RpcError } from '#libs/rpc';
import { type DashboardWords } from '#locales';
import { type ApiKeyRecord } from '../../auth/index.js';
import { PublicAddress } from '../../config/index.js';
import { scopesOf } from '../../team/index.js';
import { listPages } from '../list-pages.js';
import { type PageDefinition } from '../page.js';
import {
  ConfirmForm,
  ButtonLink,
  ChoiceField,
  dateIn,
  Actions,
  Facts,
  FormOf,
  SecretField,
  SelectField,
  TextField,
  timeIn,
} from '../parts.js';
import { ActivityLog } from '../activity-log.js';
import { type PageContext } from '../page-context.js';
import { sectionAbout } from '../sections.js';

const DEFAULT_RATE = 10;
/** Seconds, within the limit of the operation. */
const OVERLAPS = ['0', '3600', '86400'];

export const keyPages: PageDefinition[] = [
  ...listPages<ApiKeyRecord>({
    path: 'keys',
    section: 'keys',
    needs: 'api-key:read',
    operation: 'api-key.list-api-keys',
    title: ({ keys }) => keys.title,
    text: ({ keys }) => keys.text,
    empty: ({ keys }) => keys.none,
    search: ({ keys }) => keys.search,
    add: { path: 'keys/new', text: ({ keys }) => keys.add, needs: 'api-key:write' },
    columns: [
      {
        name: ({ nameOf }) => nameOf,
        cell: ({ id, name }, { address }) => html`<a href="${address.path(`keys/${id}`)}">${name}</a>`,
        exported: ({ name }) => name,
      },
      { name: ({ keys }) => keys.begins, cell: ({ prefix }) => prefix },
      { name: ({ state }) => state, cell: (key, { words }) => stateOf(words, key) },
      { name: ({ keys }) => keys.lastUsed, cell: ({ lastUsedAt }, { words }) => usedIn(words, lastUsedAt) },
    ],
  }),
  {
    path: 'keys/new',
    needs: 'api-key:write',
    show: (context) => {
      const { keys } = context.words;
      const { fields } = keys;
      const own = scopesOf(context.person.organization.role);
      const scopes = allScopes().filter((scope) => hasScope(own, scope));
      const written = [
        TextField(context.form, { name: 'name', label: fields.name, hint: fields.nameHint, max: 200 }),
        ChoiceField(context.form, {
          name: 'scopes',
          label: fields.scopes,
          isMany: true,
          choices: scopes.map((value) => ({ value, text: scopeIn(context.words, value) })),
        }),
        TextField(context.form, {
          name: 'rateLimit',
          label: fields.rateLimit,
          type: 'number',
          value: String(DEFAULT_RATE),
        }),
        TextField(context.form, {
          name: 'expiresAt',
          label: fields.expiresAt,
          hint: fields.expiresHint,
          type: 'datetime-local',
          isOptional: true,
        }),
      ];
      return Promise.resolve(
        context.view.page({
          section: 'keys',
          back: toKeys(context),
          title: keys.add,
          content: html`<div class="text">${FormOf(context.form, { fields: written, button: keys.button })}</div>`,
        }),
      );
    },
    act: async (context) => {
      const expiresAt = context.form.typed('expiresAt');
      const made = await context.api.run<{ key: string | null }>('api-key.create-api-key', {
        name: context.form.typed('name') ?? '',
        scopes: context.form.getAll('scopes'),
        rateLimit: Number(context.form.typed('rateLimit') ?? Number.NaN),
        expiresAt: expiresAt === null ? undefined : `${expiresAt.slice(0, 16)}:00Z`,
      });
      return shownOnce(context, {
        ...made,
        name: context.form.typed('name') ?? '',
        scopes: context.form.getAll('scopes'),
      });
    },
  },
  {
    path: 'keys/:key',
    needs: 'api-key:read',
    show: async (context) => {
      const { words } = context;
      const { keys } = words;
      const [key, past] = await Promise.all([
        keyOf(context),
        ActivityLog(context, context.address.params.key!),
      ]);
      return context.view.page({
        section: 'keys',
        back: toKeys(context),
        title: key.name,
        content: html`${
          isGood(key) && context.person.may('api-key:write')
            ? Actions([
                key.revokedAt === null
                  ? ButtonLink(context.address, `keys/${key.id}/rotate`, keys.rotate, true)
                  : null,
                ButtonLink(context.address, `keys/${key.id}/revoke`, keys.revoke, true),
              ])
            : null
        }
        ${Facts([
          { name: words.state, value: stateOf(words, key) },
          { name: keys.begins, value: key.prefix },
          { name: keys.may, value: key.scopes.map((scope) => scopeIn(words, scope)).join(', ') },
          { name: keys.lastUsed, value: usedIn(words, key.lastUsedAt) },
          { name: words.since, value: dateIn(words, key.createdAt) },
          ...(key.expiresAt === null ? [] : [{ name: words.until, value: timeIn(words, key.expiresAt) }]),
        ])}
        ${past}`,
      });
    },
  },
  {
    path: 'keys/:key/rotate',
    needs: 'api-key:write',
    show: async (context) => {
      const { rotating } = context.words.keys;
      const { id, name } = await keyOf(context);
      const overlap = SelectField(context.form, {
        name: 'overlapSeconds',
        label: rotating.overlap,
        value: '86400',
        choices: OVERLAPS.map((value) => ({ value, text: rotating.overlaps[value]! })),
      });
      return context.view.page({
        section: 'keys',
        back: { href: context.address.path(`keys/${id}`), text: name },
        title: rotating.title(name),
        content: ConfirmForm(context, {
          text: rotating.text,
          fields: [overlap],
          button: rotating.button,
          back: `keys/${id}`,
        }),
      });
    },
    act: async (context) => {
      const { name, scopes } = await keyOf(context);
      const made = await context.api.run<{ key: string | null }>('api-key.rotate-api-key', {
        apiKeyId: context.address.params.key,
        overlapSeconds: Number(context.form.typed('overlapSeconds') ?? 0),
      });
      return shownOnce(context, { ...made, name, scopes });
    },
  },
  {
    path: 'keys/:key/revoke',
    needs: 'api-key:write',
    show: async (context) => {
      const { revoking } = context.words.keys;
      const { id, name } = await keyOf(context);
      return context.view.page({
        section: 'keys',
        title: revoking.title(name),
        content: ConfirmForm(context, {
          text: revoking.text,
          button: revoking.button(name),
          back: `keys/${id}`,
          isFinal: true,
        }),
      });
    },
    act: async ({ address, api }) => {
      await api.run('api-key.revoke-api-key', { apiKeyId: address.params.key });
      return { to: 'keys', done: 'keys.revoked' };
    },
  },
];

function toKeys({ words, address }: PageContext) {
  return { href: address.path('keys'), text: words.keys.title };
}

/** No operation returns a single key, so this searches all keys ever created. An organization has a few hundred at most. */
async function keyOf({ address, api }: PageContext): Promise<ApiKeyRecord> {
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

function scopeIn({ keys, sections }: DashboardWords, scope: string): string {
  if (scope === '*') return keys.everything;
  if (scope in keys.public) return keys.public[scope as keyof typeof keys.public];
  const [service = '', right = ''] = scope.split(':');
  const what = service === 'history' ? keys.historyScope : sections[sectionAbout(service)!]!;
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
  const service = scopes.find((scope) => scope.endsWith(':read'))?.split(':')[0];
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
