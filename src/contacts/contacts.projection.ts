import { binaryArray, type ElementType, searchIndexes } from '#libs/database';
import { openValue, type RecordedEvent, type Seal, wrappedKeyOf } from '#libs/event-store';
import { type Projection, schemaOf, wholeVersion, type Snapshots } from '#libs/projections';
import { comparableEmail } from '#libs/rpc';
import { nextTurn } from '#libs/work';
import {
  DETAIL_COLUMNS,
  detailsOf,
  extrasOf,
  INDEXED_COLUMNS,
  type Open,
  PLAIN_COLUMNS,
  type Row,
  SEALED_COLUMNS,
  sealedAs,
  SEARCHED,
} from './contact-columns.js';
import {
  contact,
  type Contact,
  type ContactDetails,
  type ContactEvent,
  type ContactPersonal,
  NO_DETAILS,
} from './contact.js';
import { otherMailbox, phoneKey } from './duplicates/duplicate-keys.js';
import { jsonWithoutCase, withoutCase } from './filters/folded-text.js';

/** By which contacts of the same person are found. */
const KEY_COLUMNS = { phone_key: 'integer', mobile_key: 'integer', mailbox: 'text' } as const;
const PERSONAL_COLUMNS = [
  ...PLAIN_COLUMNS,
  ...SEALED_COLUMNS,
  ...Object.keys(KEY_COLUMNS),
  'external_ids',
  'custom_fields',
];
const COLUMN_OF = new Map(DETAIL_COLUMNS.map((one) => [one.detail, one]));

/** SQL: first name, last name and postcode, to find a person who uses several addresses; null if one is missing. */
const NAME_AND_ZIP = ['first_name', 'last_name', `replace(zip, ' ', '')`]
  .map((text) => withoutCase(text))
  .join(` || E'\\n' || `);

/** The combined effect of a page of events on one contact. */
type Change = {
  id: string;
  organization_id: string;
  version: number;
  /** For existing contacts: the version before the change. */
  after?: number;
  created_at?: Date;
  updated_at: Date;
  /** Columns to set; an absent one keeps its value. */
  set: {
    [column: string]:
      | string
      | number
      | boolean
      | Buffer
      | null
      | readonly string[]
      | ContactPersonal['customFields'];
    external_ids?: readonly string[];
    /** Values to set; null clears one. */
    custom_fields?: ContactPersonal['customFields'];
  };
};

type Erased = {
  id: string;
  organization_id: string;
  version: number;
  created_at?: Date;
  erased_at: Date;
  merged_into?: string;
};

/** An event takes up to 40 µs, most of it for sealing. */
const EVENTS_PER_TURN = 64;

/** Erasure in tables of earlier projection versions. */
const DELETE_ERASED = `
  DELETE FROM contacts c USING unnest($1::uuid[], $2::uuid[]) AS e(organization_id, id)
  WHERE c.organization_id = e.organization_id AND c.id = e.id`;

export const contactsProjection: Projection<ContactEvent> = {
  name: 'contacts',
  version: 5,
  erasure: {
    event: 'ContactErased',
    inPlain: true,
    earlier: { 1: DELETE_ERASED, 2: DELETE_ERASED, 3: DELETE_ERASED, 4: DELETE_ERASED },
  },
  appliesBy: [],
  handles: [
    'ContactCreated',
    'ContactUpdated',
    'ContactSubscribed',
    'ContactUnsubscribed',
    'ContactMerged',
    'DuplicatesMerged',
    'ContactErased',
  ],
  tables: `
    CREATE TABLE contacts (
      organization_id uuid           NOT NULL,
      id              uuid           NOT NULL,
      version         integer        NOT NULL,
      created_at      timestamptz(3) NOT NULL,
      updated_at      timestamptz(3) NOT NULL,
      subscribed      boolean        NOT NULL,
      ${PLAIN_COLUMNS.map((column) => `${column} text`).join(',\n      ')},
      ${SEALED_COLUMNS.map((column) => `${column} bytea`).join(',\n      ')},
      ${Object.entries(KEY_COLUMNS)
        .map(([column, type]) => `${column} ${type}`)
        .join(',\n      ')},
      name_key        bigint GENERATED ALWAYS AS (hashtextextended(${NAME_AND_ZIP}, 0)) STORED,
      external_ids    text[],
      custom_fields   jsonb,
      PRIMARY KEY (organization_id, id)
    );
    -- ANALYZE stores samples of a column's values, which would outlive the erasure of a person.
    ALTER TABLE contacts ${[...PERSONAL_COLUMNS, 'name_key'].map((column) => `ALTER COLUMN ${column} SET STATISTICS 0`).join(', ')};
    CREATE INDEX contacts_by_creation ON contacts (organization_id, created_at, id);
    CREATE INDEX contacts_by_update ON contacts (organization_id, updated_at, id);
    CREATE INDEX contacts_by_email ON contacts (organization_id, email_compared, id);
    -- Partial, because most contacts have none of these values.
    ${INDEXED_COLUMNS.map(
      (column) => `
    CREATE INDEX contacts_by_${column} ON contacts (organization_id, ${withoutCase(column)}) WHERE ${column} IS NOT NULL;
    ALTER INDEX contacts_by_${column} ALTER COLUMN 2 SET STATISTICS 0;`,
    ).join('')}
    -- Neighbours in these may be the same person.
    ${['name_key', ...Object.keys(KEY_COLUMNS)]
      .map(
        (column) => `
    CREATE INDEX contacts_by_${column} ON contacts (organization_id, ${column}, id) WHERE ${column} IS NOT NULL;`,
      )
      .join('')}
    CREATE INDEX contacts_by_external_id ON contacts USING gin (external_ids) WHERE external_ids IS NOT NULL;
    -- Finds values by @>. The ids of fields in the keys keep organizations apart.
    CREATE INDEX contacts_by_custom_field ON contacts USING gin ((${jsonWithoutCase('custom_fields')}) jsonb_path_ops)
      WHERE custom_fields IS NOT NULL;
    CREATE INDEX contacts_unsubscribed ON contacts (organization_id, id) WHERE NOT subscribed;
    ${searchIndexes('contacts', SEARCHED)}

    -- Ids and times of erased contacts, so that their streams need not be read to find this out.
    -- merged_into: the contact that replaces it.
    CREATE TABLE contacts_erased (
      organization_id uuid           NOT NULL,
      id              uuid           NOT NULL,
      version         integer        NOT NULL,
      created_at      timestamptz(3) NOT NULL,
      updated_at      timestamptz(3) NOT NULL,
      merged_into     uuid,
      PRIMARY KEY (organization_id, id)
    );
  `,

  async apply(events, transaction, seal) {
    const created = new Map<string, Change>();
    const changed = new Map<string, Change>();
    const erased = new Map<string, Erased>();
    for (const [n, event] of events.entries()) {
      if (n > 0 && n % EVENTS_PER_TURN === 0) await nextTurn();
      const { streamId: id, organizationId: organization_id, version, recordedAt: updated_at } = event;
      const key = { id, organization_id, version };
      switch (event.type) {
        case 'ContactCreated':
          created.set(id, {
            ...key,
            version: wholeVersion(undefined, event),
            created_at: updated_at,
            updated_at,
            set: columnsOf(event, seal),
          });
          break;
        case 'ContactMerged':
        case 'ContactErased': {
          const created_at = created.get(id)?.created_at;
          const before = erased.get(id) ?? {
            ...(created_at ? { created_at } : {}),
            ...(event.type === 'ContactMerged' ? { merged_into: event.data.into } : {}),
          };
          erased.set(id, { ...before, ...key, erased_at: updated_at });
          created.delete(id);
          changed.delete(id);
          break;
        }
        case 'ContactUpdated':
        case 'ContactSubscribed':
        case 'ContactUnsubscribed':
        case 'DuplicatesMerged': {
          const before = created.get(id) ?? changed.get(id);
          if (before) {
            Object.assign(before, { version: wholeVersion(before.version, event), updated_at });
            setColumns(before.set, columnsOf(event, seal));
          } else {
            changed.set(id, { ...key, after: version - 1, updated_at, set: columnsOf(event, seal) });
          }
        }
      }
    }
    if (created.size > 0) void transaction.send(INSERT, arraysOf([...created.values()]));
    if (changed.size > 0) void transaction.send(UPDATE, [jsonOf([...changed.values()])]);
    if (erased.size > 0) void transaction.send(ERASE, [JSON.stringify([...erased.values()])]);
  },

  get snapshots() {
    return snapshotsIn(schemaOf(this));
  },
};

/**
 * A contact in the projection, with the wrapped key of its encrypted columns, which is null if it was erased since. Erased
 * contacts only have what replaces them.
 */
type Snapshot =
  | { id: string; key: string | null; subscribed: boolean; columns: Row }
  | { mergedInto: string | null };

function snapshotsIn(schema: string): Snapshots<Contact> {
  const where = 'WHERE organization_id = $1 AND id = ANY ($2::uuid[])';
  const columns = [
    ...DETAIL_COLUMNS.map(
      ({ column, sealed }) => `'${column}', ${sealed ? `encode(${column}, 'base64')` : column}`,
    ),
    `'external_ids', external_ids`,
    `'custom_fields', custom_fields`,
  ];
  return {
    streamType: contact.streamType,
    sql: `
      SELECT id, version, created_at, updated_at, json_build_object(
        'id', id, 'subscribed', subscribed, 'columns', json_build_object(${columns.join(', ')}),
        'key', encode(${wrappedKeyOf('c', 'id')}, 'base64')
      )::text AS state FROM ${schema}.contacts c ${where}
      UNION ALL
      SELECT id, version, created_at, updated_at, json_build_object('mergedInto', merged_into)::text
      FROM ${schema}.contacts_erased ${where}`,
    read(state, keyring) {
      const row = state as Snapshot;
      if ('mergedInto' in row)
        return { status: 'erased', ...(row.mergedInto === null ? {} : { mergedInto: row.mergedInto }) };
      // The contact has been erased since, so the history no longer has its details.
      if (!row.key) {
        return {
          status: 'standing',
          subscribed: row.subscribed,
          details: NO_DETAILS,
          externalIds: [],
          customFields: {},
        };
      }
      const key = keyring.unwrap(Buffer.from(row.key, 'base64'), row.id);
      const open: Open = (name, sealed) => openValue(key, name, Buffer.from(sealed as string, 'base64'));
      return {
        status: 'standing',
        subscribed: row.subscribed,
        details: detailsOf(row.columns, open),
        ...extrasOf(row.columns),
      };
    },
  };
}

/** The columns that an event sets. The details of erased people are gone from the history and stay null. */
function columnsOf(event: RecordedEvent<ContactEvent>, seal: Seal): Change['set'] {
  switch (event.type) {
    case 'ContactCreated':
      return { subscribed: event.data.subscribed, ...personalColumns(event, event.personal, seal) };
    case 'ContactUpdated':
      return personalColumns(event, event.personal, seal);
    case 'ContactSubscribed':
      return { subscribed: true };
    case 'ContactUnsubscribed':
      return { subscribed: false };
    case 'ContactMerged':
    case 'DuplicatesMerged':
    case 'ContactErased':
      return {};
  }
}

function personalColumns(event: RecordedEvent, personal: ContactPersonal | null, seal: Seal): Change['set'] {
  const { externalIds, customFields, ...details } = personal ?? {};
  const columns: Change['set'] = {
    ...(externalIds ? { external_ids: externalIds } : {}),
    ...(customFields ? { custom_fields: customFields } : {}),
  };
  for (const [name, value] of Object.entries(details)) {
    const { detail, column, sealed } = COLUMN_OF.get(name as keyof ContactDetails)!;
    columns[column] = sealed && value !== null ? seal(event, sealedAs(detail), value) : value;
    if (detail === 'phone' || detail === 'mobile') columns[`${detail}_key`] = value && phoneKey(value);
    if (detail === 'email' && value !== null) {
      columns.email_compared = comparableEmail(value);
      columns.mailbox = otherMailbox(value);
    }
  }
  return columns;
}

/** Later columns win, except that custom values are merged. */
function setColumns(set: Change['set'], next: Change['set']): void {
  const merged = { ...set.custom_fields, ...next.custom_fields };
  Object.assign(set, next, Object.keys(merged).length > 0 ? { custom_fields: merged } : {});
}

const SET_COLUMNS = ['subscribed', ...PERSONAL_COLUMNS];
const CHANGES = `jsonb_to_recordset($1::jsonb) AS change(id uuid, organization_id uuid, version integer, after integer,
  created_at timestamptz, updated_at timestamptz, set jsonb)`;
const fromSet = (column: string) => {
  if (column === 'subscribed') return `(change.set->>'subscribed')::boolean`;
  if (column === 'external_ids') return textsIn(`change.set->'external_ids'`);
  if (column === 'custom_fields')
    return withoutNulls(`coalesce(contacts.custom_fields, '{}') || (change.set->'custom_fields')`);
  if (column in KEY_COLUMNS)
    return `(change.set->>'${column}')::${KEY_COLUMNS[column as keyof typeof KEY_COLUMNS]}`;
  return column.startsWith('sealed_')
    ? `decode(change.set->>'${column}', 'hex')`
    : `change.set->>'${column}'`;
};

/** SQL: the texts of a JSON array, in its order; null if it is empty or null. */
function textsIn(json: string): string {
  return `CASE WHEN ${json} IS NOT NULL THEN
    (SELECT array_agg(text ORDER BY n) FROM jsonb_array_elements_text(${json}) WITH ORDINALITY AS e(text, n)) END`;
}

/** SQL: a JSON object without its null values; null if nothing is left. */
function withoutNulls(json: string): string {
  return `nullif(jsonb_strip_nulls(${json}), '{}')`;
}

/** Encodes bytes as hexadecimal digits. */
function jsonOf(changes: readonly Change[]): string {
  const plain = ([column, value]: [string, unknown]): [string, unknown] => [
    column,
    Buffer.isBuffer(value) ? value.toString('hex') : value,
  ];
  return JSON.stringify(
    changes.map((change) => ({ ...change, set: Object.fromEntries(Object.entries(change.set).map(plain)) })),
  );
}

/** Encoded as JSON. */
const JSON_COLUMNS = ['external_ids', 'custom_fields'];

const COLUMNS: [string, ElementType][] = [
  ['organization_id', 'uuid'],
  ['id', 'uuid'],
  ['version', 'int'],
  ['created_at', 'timestamptz'],
  ['updated_at', 'timestamptz'],
  ['subscribed', 'boolean'],
  ...PLAIN_COLUMNS.map((column): [string, ElementType] => [column, 'text']),
  ...SEALED_COLUMNS.map((column): [string, ElementType] => [column, 'bytea']),
  ['phone_key', 'int'],
  ['mobile_key', 'int'],
  ['mailbox', 'text'],
  ...JSON_COLUMNS.map((column): [string, ElementType] => [column, 'jsonb']),
];
const NAMES = COLUMNS.map(([column]) => column);

const INSERT = `
  INSERT INTO contacts (${NAMES.join(', ')})
  SELECT ${NAMES.map((column) => {
    if (column === 'external_ids') return textsIn(column);
    return column === 'custom_fields' ? withoutNulls(column) : column;
  }).join(', ')}
  FROM unnest(${COLUMNS.map(([, type], n) => `$${n + 1}::${type}[]`).join(', ')}) AS new(${NAMES.join(', ')})`;

function arraysOf(created: readonly Change[]): Buffer[] {
  return COLUMNS.map(([column, type]) =>
    binaryArray(
      type,
      created.map(({ set, ...key }) => {
        const value = column in key ? key[column as keyof typeof key] : (set[column] ?? null);
        return type === 'jsonb' && value !== null ? JSON.stringify(value) : value;
      }),
    ),
  );
}

const UPDATE = `
  UPDATE contacts SET updated_at = change.updated_at,
    version = CASE WHEN contacts.version = change.after THEN change.version ELSE contacts.version END,
    ${SET_COLUMNS.map(
      (column) =>
        `${column} = CASE WHEN change.set ? '${column}' THEN ${fromSet(column)} ELSE contacts.${column} END`,
    ).join(',\n    ')}
  FROM ${CHANGES}
  WHERE contacts.organization_id = change.organization_id AND contacts.id = change.id`;

const ERASE = `
  WITH gone AS (
    SELECT * FROM jsonb_to_recordset($1::jsonb)
      AS gone(organization_id uuid, id uuid, version integer, created_at timestamptz, erased_at timestamptz,
        merged_into uuid)
  ), deleted AS (
    DELETE FROM contacts c USING gone WHERE c.organization_id = gone.organization_id AND c.id = gone.id
    RETURNING c.organization_id, c.id, c.created_at
  )
  INSERT INTO contacts_erased (organization_id, id, version, created_at, updated_at, merged_into)
  SELECT gone.organization_id, gone.id, gone.version, coalesce(gone.created_at, deleted.created_at, gone.erased_at),
    gone.erased_at, gone.merged_into
  FROM gone LEFT JOIN deleted ON deleted.organization_id = gone.organization_id AND deleted.id = gone.id
  -- The erasure that follows a merge may be on the next page of events.
  ON CONFLICT (organization_id, id) DO UPDATE SET version = excluded.version, updated_at = excluded.updated_at`;

export const CONTACTS_TABLE = `${schemaOf(contactsProjection)}.contacts`;
