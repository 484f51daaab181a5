import { binaryArray, type ElementType, type Sql } from '#libs/database';
import { newId } from '#libs/random';
import { nextTurn } from '#libs/work';
import { canonical } from './canonical.js';
import { bodyDigest, timedDigest } from './digest.js';
import { type EventRow } from './event-rows.js';
import { type DomainEvent, type JsonObject, type Metadata } from './event.js';
import { type Keyring } from './keyring.js';
import { salted } from './personal-data.js';
import { asWritten, type Upcasters } from './upcasting.js';

export type StreamWrite = {
  streamType: string;
  streamId: string;
  /** The version that the decision is based on; 0 for a new stream. */
  expectedVersion: number;
  events: readonly DomainEvent[];
  /**
   * The person the events are about, whose key encrypts their personal data. If a new stream is its own
   * subject, the key is created. Otherwise the subject must exist until the events are stored.
   */
  subjectId?: string;
};

/** A stream that a decision depends on without writing to it. */
export type Guard = { streamId: string; version: number };

/** All changes of one command. They are committed together or not at all. */
export type AppendCommand = {
  organizationId: string;
  metadata: Metadata;
  writes: readonly StreamWrite[];
  /** Streams that must stay at these versions until the command is stored. */
  guards?: readonly Guard[];
  /** Unique keys (keyed hashes) that the streams claim. At most one stream owns a key. */
  claims?: readonly { key: Buffer; streamId: string }[];
  /** Unique keys that the written streams release. Keys of other streams are unaffected. */
  releases?: readonly { key: Buffer; streamId: string }[];
  /** Streams that release all their unique keys. */
  releasesAll?: readonly string[];
  /** People to erase: their encryption keys are destroyed, and they release all unique keys. */
  erases?: readonly string[];
  idempotency?: { key: Buffer; fingerprint: Buffer; result: JsonObject };
  /** The id of the first event (UUIDv7), by which a later attempt finds out that the command was stored. */
  firstEventId?: string | undefined;
  /** Called when the command's turn comes. If it returns true, the caller has given up and nothing is stored. */
  isGivenUp?: (() => boolean) | undefined;
};

/** The command's caller already got an error, so it was not stored. */
export class GivenUp extends Error {
  constructor() {
    super('the caller of this command has given up');
    this.name = 'GivenUp';
  }
}

export type AppendResult =
  /** `position` is that of the command's last event, or null if it has none. All events share `recordedAt`. */
  | { status: 'appended'; position: number | null; recordedAt: Date }
  /** The idempotency key has been used by a request with this fingerprint and result. */
  | { status: 'replayed'; fingerprint: Buffer; result: JsonObject }
  /** Unique keys that other streams own. */
  | { status: 'taken'; keys: { key: Buffer; owner: string }[] }
  /** A stream is not at its expected version, or a subject does not exist. Load, decide and append again. */
  | { status: 'version' }
  /** Lost only to a command that failed itself. Append again. */
  | { status: 'retry' };

export type AppendRow = {
  command: number;
  status: AppendResult['status'];
  position: string | null;
  recorded_at: Date;
  fingerprint: Buffer;
  result: JsonObject;
  key: Buffer;
  owner: string;
};

/** Each column is an array parameter of append_events, in the function's order. */
const COLUMNS: { [table in Table]: ElementType[] } = {
  streams: ['int', 'uuid', 'uuid', 'int', 'boolean'],
  subjects: ['int', 'uuid', 'uuid'],
  idempotency: ['int', 'uuid', 'bytea', 'bytea', 'jsonb'],
  claims: ['int', 'uuid', 'bytea', 'uuid'],
  releases: ['int', 'uuid', 'bytea', 'uuid'],
  subjectKeys: ['int', 'uuid', 'uuid', 'bytea'],
  ends: ['int', 'uuid', 'uuid'],
  events: [
    ...([
      'int',
      'uuid',
      'text',
      'uuid',
      'int',
      'uuid',
      'text',
      'smallint',
      'jsonb',
      'bytea',
      'uuid',
    ] as const),
    ...(['jsonb', 'bytea'] as const),
  ],
};
type Table =
  | 'streams'
  | 'subjects'
  | 'idempotency'
  | 'claims'
  | 'releases'
  | 'subjectKeys'
  | 'ends'
  | 'events';

const CALL = (() => {
  let parameter = 0;
  const columns = Object.values(COLUMNS).flatMap((types) =>
    types.map((type) => `$${++parameter}::${type}[]`),
  );
  return `SELECT * FROM append_events(${columns.join(', ')}, $${++parameter}::int)`;
})();

/** Appends all commands in one call and one transaction. Returns the results in the same order. */
export async function appendBatch(
  sql: Sql,
  keyring: Keyring,
  commands: readonly AppendCommand[],
  upcasters: Upcasters,
): Promise<AppendResult[]> {
  const { text, values, read } = await appendCall(sql, keyring, commands, upcasters);
  return read(await sql.query<AppendRow[]>(text, values));
}

/**
 * The statement that appends all commands.
 *
 * @returns `read`: the results from its rows, in the order of the commands. `written`: the events of each command.
 */
export async function appendCall(
  sql: Sql,
  keyring: Keyring,
  commands: readonly AppendCommand[],
  upcasters: Upcasters,
): Promise<{
  text: string;
  values: unknown[];
  read: (rows: AppendRow[]) => AppendResult[];
  written: readonly (readonly WrittenEvent[])[];
}> {
  const keys = await existingSubjectKeys(sql, keyring, commands, upcasters);
  const columns = Object.fromEntries(
    Object.entries(COLUMNS).map(([table, types]) => [table, types.map((): unknown[] => [])]),
  ) as Record<Table, unknown[][]>;
  const add = (table: Table, ...row: unknown[]) =>
    row.forEach((value, column) => columns[table][column]!.push(value));
  const isErased: boolean[] = [];
  const written: WrittenEvent[][] = commands.map(() => []);

  let inThisTurn = 0;
  for (const [index, command] of commands.entries()) {
    if (inThisTurn >= EVENTS_PER_TURN) {
      await nextTurn();
      inThisTurn = 0;
    }
    const { organizationId } = command;
    // Prepared first, because a command whose subject was erased must store no row.
    const prepared = prepare(command, keyring, keys, upcasters);
    if (!prepared) {
      isErased[index] = true;
      continue;
    }
    inThisTurn += prepared.events.length;
    for (const [subjectId, wrapped] of prepared.subjectKeys)
      add('subjectKeys', index, organizationId, subjectId, wrapped);
    const shared = canonical(command.metadata);
    for (const event of prepared.events) {
      const { streamType, streamId, version, eventId, type, schema, personal, subjectId } = event;
      const data = canonical(event.data);
      const metadata = event.metadata === command.metadata ? shared : canonical(event.metadata);
      const digest = bodyDigest(event, data, metadata);
      const stream = [organizationId, streamType, streamId, version] as const;
      add('events', index, ...stream, eventId, type, schema, data, personal, subjectId, metadata, digest);
      written[index]!.push({ event, data, digest });
    }
    for (const { streamId, expectedVersion } of command.writes)
      add('streams', index, organizationId, streamId, expectedVersion, false);
    for (const { streamId, version } of command.guards ?? [])
      add('streams', index, organizationId, streamId, version, true);
    for (const subjectId of otherSubjects(command)) add('subjects', index, organizationId, subjectId);
    for (const { key, streamId } of command.claims ?? []) add('claims', index, organizationId, key, streamId);
    for (const { key, streamId } of command.releases ?? [])
      add('releases', index, organizationId, key, streamId);
    // append_events releases unique keys and destroys encryption keys. Only people have the latter.
    const { releasesAll = [], erases = [] } = command;
    for (const streamId of [...releasesAll, ...erases]) add('ends', index, organizationId, streamId);
    if (command.idempotency) {
      const { key, fingerprint, result } = command.idempotency;
      add('idempotency', index, organizationId, key, fingerprint, JSON.stringify(result));
    }
  }

  const parameters = (Object.keys(COLUMNS) as Table[]).flatMap((table) =>
    COLUMNS[table].map((type, column) => binaryArray(type, columns[table][column]!)),
  );
  return {
    text: CALL,
    values: [...parameters, commands.length],
    read: (rows) =>
      collect(rows, commands.length).map((result, index) =>
        isErased[index] ? { status: 'version' } : result,
      ),
    written,
  };
}

/** An event as it was sent to the database. `data`: JSON. `digest`: of the body. */
export type WrittenEvent = { event: PreparedEvent; data: string; digest: Buffer };

/** The row of an event that was stored, but for its position. */
export function rowOf({ event, data, digest }: WrittenEvent, recordedAt: Date): Omit<EventRow, 'position'> {
  return {
    organization_id: event.organizationId,
    stream_type: event.streamType,
    stream_id: event.streamId,
    version: event.version,
    event_id: event.eventId,
    type: event.type,
    schema: event.schema,
    data: JSON.parse(data) as JsonObject,
    personal: event.personal,
    subject_id: event.subjectId,
    metadata: event.metadata as Metadata,
    recorded_at: recordedAt,
    digest: timedDigest(digest, recordedAt),
    wrapped_key: event.wrapped,
  };
}

/**
 * Takes the locks that `append_events` takes for these commands, in the same order, until the transaction ends. Then no one
 * else can write to their streams, or about the people whose own streams they are.
 */
export async function lockStreams(sql: Sql, commands: readonly AppendCommand[]): Promise<void> {
  const streams: string[] = [];
  const isShared: boolean[] = [];
  const add = (streamId: string, shared: boolean) => {
    streams.push(streamId);
    isShared.push(shared);
  };
  for (const command of commands) {
    for (const { streamId } of command.writes) add(streamId, false);
    for (const { streamId } of command.guards ?? []) add(streamId, true);
    for (const subjectId of otherSubjects(command)) add(subjectId, true);
  }
  await sql.query(LOCK, [streams, isShared]);
}
const LOCK = `
  SELECT CASE WHEN l.shared THEN pg_advisory_xact_lock_shared(17750, l.lock)
              ELSE pg_advisory_xact_lock(17750, l.lock) END
  FROM (
    SELECT hashtext(held.stream::text) AS lock, bool_and(held.shared) AS shared
    FROM unnest($1::uuid[], $2::boolean[]) AS held(stream, shared)
    GROUP BY 1 ORDER BY 1
  ) l`;

/** Preparing an event takes 35 µs: encryption, digest and JSON. */
const EVENTS_PER_TURN = 64;

type SubjectKey = ReturnType<Keyring['newSubjectKey']>;

const NONE = { personal: null, personalDigest: undefined };

/** `wrapped`: the key of its personal data, wrapped. */
type PreparedEvent = Parameters<typeof bodyDigest>[0] & { wrapped: Buffer | null };

/** The events in their stored form. Undefined if they contain personal data of a subject without a key. */
function prepare(
  command: AppendCommand,
  keyring: Keyring,
  keys: ReadonlyMap<string, SubjectKey>,
  upcasters: Upcasters,
): { events: PreparedEvent[]; subjectKeys: [string, Buffer][] } | undefined {
  const events: PreparedEvent[] = [];
  const subjectKeys: [string, Buffer][] = [];
  const newKeys = new Map<string, SubjectKey>();
  for (const write of command.writes) {
    if (!write.subjectId || !isNewSubject(write)) continue;
    const created = keyring.newSubjectKey(write.subjectId);
    newKeys.set(write.subjectId, created);
    subjectKeys.push([write.subjectId, created.wrapped]);
  }
  for (const write of command.writes) {
    const { subjectId = null } = write;
    const key = subjectId && (newKeys.get(subjectId) ?? keys.get(`${command.organizationId} ${subjectId}`));
    for (const [index, event] of write.events.entries()) {
      const eventId = events.length === 0 ? (command.firstEventId ?? newId()) : newId();
      const { data, personal = null } = event;
      const written = asWritten(upcasters, event.type, { data, personal });
      if (written.personal && !key) return undefined;
      const { personal: sealed, personalDigest } = written.personal ? salted(written.personal) : NONE;
      events.push({
        organizationId: command.organizationId,
        streamType: write.streamType,
        streamId: write.streamId,
        version: write.expectedVersion + index + 1,
        eventId,
        type: event.type,
        schema: written.schema,
        data: written.data,
        personal: sealed && key ? keyring.personalData.encrypt(key.key, sealed, eventId) : null,
        wrapped: sealed && key ? key.wrapped : null,
        subjectId,
        metadata: personalDigest === undefined ? command.metadata : { ...command.metadata, personalDigest },
      });
    }
  }
  return { events, subjectKeys };
}

function isNewSubject(write: StreamWrite): boolean {
  return write.subjectId === write.streamId && write.expectedVersion === 0;
}

/** Subjects of events in streams other than their own, without those that the command creates. */
export function otherSubjects({ writes }: AppendCommand): Set<string> {
  const others = new Set<string>();
  for (const { subjectId, streamId } of writes) {
    if (subjectId !== undefined && subjectId !== streamId) others.add(subjectId);
  }
  if (others.size > 0) for (const { streamId } of writes.filter(isNewSubject)) others.delete(streamId);
  return others;
}

/** Checks the written shape as well. If that is the previous one, it may have personal data that the newest has not. */
function hasPersonal({ type, data, personal = null }: DomainEvent, upcasters: Upcasters): boolean {
  if (personal) return true;
  return upcasters[type] !== undefined && asWritten(upcasters, type, { data, personal }).personal !== null;
}

/** The keys of existing subjects, by `organization subject`, in one query for the whole batch. */
async function existingSubjectKeys(
  sql: Sql,
  keyring: Keyring,
  commands: readonly AppendCommand[],
  upcasters: Upcasters,
): Promise<Map<string, SubjectKey>> {
  const organizations: string[] = [];
  const subjects: string[] = [];
  for (const { organizationId, writes } of commands) {
    for (const write of writes) {
      if (!write.subjectId || isNewSubject(write)) continue;
      if (!write.events.some((event) => hasPersonal(event, upcasters))) continue;
      organizations.push(organizationId);
      subjects.push(write.subjectId);
    }
  }
  if (subjects.length === 0) return new Map();
  const rows = await sql.query<{ organization_id: string; subject_id: string; wrapped_key: Buffer }[]>(
    `SELECT k.organization_id, k.subject_id, k.wrapped_key FROM subject_keys k
     JOIN (SELECT DISTINCT * FROM unnest($1::uuid[], $2::uuid[]) AS s(organization, subject)) s
       ON k.organization_id = s.organization AND k.subject_id = s.subject`,
    [organizations, subjects],
  );
  return new Map(
    rows.map((row) => [
      `${row.organization_id} ${row.subject_id}`,
      { key: keyring.unwrap(row.wrapped_key, row.subject_id), wrapped: row.wrapped_key },
    ]),
  );
}

function collect(rows: AppendRow[], commands: number): AppendResult[] {
  const results = new Array<AppendResult>(commands).fill({ status: 'retry' });
  for (const row of rows) {
    switch (row.status) {
      case 'appended':
        results[row.command] = {
          status: 'appended',
          position: row.position === null ? null : Number(row.position),
          recordedAt: row.recorded_at,
        };
        break;
      case 'replayed':
        results[row.command] = { status: 'replayed', fingerprint: row.fingerprint, result: row.result };
        break;
      case 'taken': {
        const before = results[row.command];
        const others = before?.status === 'taken' ? before.keys : [];
        results[row.command] = { status: 'taken', keys: [...others, { key: row.key, owner: row.owner }] };
        break;
      }
      case 'version':
        results[row.command] = { status: 'version' };
        break;
      case 'retry':
        break;
    }
  }
  return results;
}
