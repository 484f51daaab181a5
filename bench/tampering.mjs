/**
 * Tampers with the history in every way that we know of, in the database and in an export. The verification must find each change,
 * locate it, and report it in a sentence. It also lists the ways that tests check, and those that nothing proves.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { open, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrate, openDatabase } from '../dist/libs/database/index.js';
import { eventDigest, EventStore, Keyring } from '../dist/libs/event-store/index.js';
import { migrations } from '../dist/migrations/index.js';
import { exportedLine } from '../dist/src/history/exported-event.js';
import { verifyExport } from '../dist/libs/verify/index.js';
import { claimsOf, contradictionOf, headOf, isConsistent } from '../dist/src/audit/consistency.js';
import { verifyDatabase } from '../dist/src/audit/index.js';
import { append, appendHistory, exportHistory, sealHistory } from './history.mjs';

export const options = { events: [1_000_000, 'events in the history'] };

export async function run(bench) {
  await bench.withDatabase((url) => tamper(url, bench.options.events));
}

const organizationId = randomUUID();

/** @throws if the verification misses a change, or locates it elsewhere */
async function tamper(url, count) {
  const directory = await mkdtemp(join(tmpdir(), 'advocacy-tampering-'));
  const source = await openDatabase({ url, poolSize: 4, migrations });
  try {
    await migrate(source);
    const history = await write(source, count, join(directory, 'history.ndjson'));
    console.log(
      `${count.toLocaleString('en')} events, sealed. Each kind of tampering is checked separately.\n`,
    );
    print('', 'position', 'seconds', 'reported');
    let failures = 0;
    for (const [name, expected, work] of database(history)) {
      const isRight = await judge(`database: ${name}`, expected, () => inDatabase(history, work));
      if (!isRight) failures += 1;
    }
    for (const [name, expected, change] of exported(history)) {
      const isRight = await judge(`export: ${name}`, expected, () => inExport(history, change));
      if (!isRight) failures += 1;
    }
    for (const [name, change] of notes()) {
      const isRight = await judge(`checkpoint: ${name}`, null, () => againstNote(history, change));
      if (!isRight) failures += 1;
    }
    console.log('\nOther ways, and the test that finds them:');
    for (const [name, test] of TESTED) print(name, '', '', test);
    console.log('\nNot proved (docs/guides/tampering.md):');
    for (const [name, reason] of NOT_PROVED) print(name, '', '', reason);
    const memory = (process.resourceUsage().maxRSS / 1024).toFixed(0);
    console.log(`\npeak memory ${memory} MiB, including the creation of the history`);
    if (failures > 0) throw new Error(`${failures} changes were missed or located in the wrong place.`);
  } finally {
    await source.destroy();
    await rm(directory, { recursive: true, force: true });
  }
}

/** Creates a history in the database and in a file. A person is erased after the history is sealed. */
async function write(source, count, file) {
  const store = new EventStore(source, new Keyring(randomBytes(32)));
  await appendHistory(source, store, organizationId, count);
  const contact = { streamType: 'contact', streamId: randomUUID() };
  const created = { type: 'ContactCreated', data: {}, personal: { email: 'gone@example.org' } };
  const creation = { ...contact, subjectId: contact.streamId, expectedVersion: 0, events: [created] };
  await append(store, organizationId, [creation]);
  const sealed = await sealHistory(source, organizationId);
  const erasure = { ...contact, expectedVersion: 1, events: [{ type: 'ContactErased', data: {} }] };
  await append(store, organizationId, [erasure], [contact.streamId]);
  await exportHistory(store, organizationId, file);
  const erasedId = contact.streamId;
  return { source, file, erasedId, ...sealed, ...(await positions(source, store, count)) };
}

/**
 * Verifies, and prints the result.
 *
 * @param expected the position or range of positions of the finding; null: a finding without a position; undefined: no finding
 * @returns whether the result is as expected
 */
async function judge(name, expected, verify) {
  const begin = performance.now();
  const { ok, events, firstWrongPosition: found, reason } = await verify();
  const seconds = (performance.now() - begin) / 1000;
  const [from, to = from] = [expected].flat();
  const isPlaced = from === null ? found === null : found !== null && found >= from && found <= to;
  const isRight = expected === undefined ? ok : !ok && isPlaced;
  const wanted = isRight ? '' : ` WRONG: expected at ${JSON.stringify(expected)}`;
  const rate = `, ${Math.round(events / seconds).toLocaleString('en')} events/s`;
  print(name, found ?? '-', seconds.toFixed(1), (ok ? `nothing${rate}` : reason) + wanted);
  return isRight;
}

/** Number of lines, from the target on, that a change of the export can affect. */
const WINDOW = 12;

/** Finds the events to tamper with. `target` is the second event of a stream in the middle of the history, and `events` starts with it. */
async function positions(source, store, count) {
  const of = async (select) => Number((await source.query(select, [organizationId]))[0].position);
  const own = 'FROM events WHERE organization_id = $1';
  const target = await of(
    `SELECT position ${own} ORDER BY position OFFSET ${Math.floor(count / 20) * 10 + 1} LIMIT 1`,
  );
  const newest = await of(`SELECT max(position) AS position ${own}`);
  const { events } = await store.readHistory(organizationId, { after: target - 1, upTo: newest }, WINDOW);
  return {
    target,
    events,
    newest,
    before: await of(`SELECT max(position) AS position ${own} AND position < ${target}`),
    first: await of(`SELECT min(position) AS position ${own}`),
    personal: await of(`SELECT min(position) AS position ${own} AND personal IS NOT NULL`),
    /** The event whose personal data was erased. */
    erased: await of(
      `SELECT min(position) AS position ${own} AND stream_id = (
         SELECT stream_id FROM events WHERE organization_id = $1 AND type = 'ContactErased')`,
    ),
    /** One of the newest sealed events. */
    sealed: await of(`SELECT position ${own} ORDER BY position DESC OFFSET 3 LIMIT 1`),
    /** An event of another organization, after the target. */
    between: await of(
      `SELECT min(position) AS position FROM events WHERE organization_id <> $1 AND position > ${target}`,
    ),
    last: await of('SELECT last_position() AS position WHERE $1::uuid IS NOT NULL'),
  };
}

/** Ways to tamper with the database: a name, the expected finding (see `judge`), and the statements (see `inDatabase`). */
function database({ target, events, newest, first, personal, sealed, last, between, erased, erasedId }) {
  const next = events[1].position;
  const set = (assignments, position = target) => [
    `UPDATE events SET ${assignments} WHERE position = ${position}`,
  ];
  const remove = (condition) => [
    `DELETE FROM events WHERE organization_id = '${organizationId}' AND ${condition}`,
  ];
  const rows = (table) => `${table} WHERE organization_id = '${organizationId}'`;
  const insert = (position) => [
    'ALTER TABLE events DROP CONSTRAINT events_from_1',
    ...(position === between ? [`DELETE FROM events WHERE position = ${between}`] : []),
    `INSERT INTO events SELECT ${position}, organization_id, stream_type, gen_random_uuid(), 1, gen_random_uuid(), type,
       schema, data, NULL, NULL, metadata, recorded_at, digest FROM events WHERE position = ${target}`,
    position,
  ];
  return [
    ['nothing', undefined, []],
    ['data is changed', target, set(`data = data || '{"newsletter": false}'`)],
    ['the time is changed', target, set(`recorded_at = recorded_at - interval '1 day'`)],
    ['the actor is changed', target, set(`metadata = jsonb_set(metadata, '{actor,id}', '"another"')`)],
    ['the schema is changed', target, set('schema = 2')],
    ['the id is changed', target, set('event_id = gen_random_uuid()')],
    ['the subject is changed', target, set('subject_id = gen_random_uuid()')],
    ['an event is moved to another stream', target, set('stream_id = gen_random_uuid()')],
    [
      'an erased person’s key is put back',
      null,
      [
        `INSERT INTO subject_keys SELECT organization_id, '${erasedId}', wrapped_key FROM ${rows('subject_keys')} LIMIT 1`,
      ],
    ],
    [
      'personal data is changed',
      personal,
      set('personal = set_byte(personal, 40, 255 - get_byte(personal, 40))', personal),
    ],
    ['the type is changed, with a matching digest', target, [...set(`type = 'PetitionClosed'`), target]],
    [
      'the type of the stream is changed, with a matching digest',
      target,
      [...set(`stream_type = 'x'`), target],
    ],
    ['the time is removed', target, set(`recorded_at = 'infinity'`)],
    ['an event is removed', target, remove(`position = ${target}`)],
    ['all events are removed', first, remove('true')],
    ['an erasure is removed', erased, remove(`stream_id = '${erasedId}' AND version = 2`)],
    ['the newest events are removed', sealed, remove(`position >= ${sealed}`)],
    ['an event is moved to another organization', target, set('organization_id = gen_random_uuid()')],
    [
      'two events swap places',
      target,
      [
        ...set('position = 2000000000'),
        ...set(`position = ${target}`, next),
        ...set(`position = ${next}`, 2_000_000_000),
      ],
    ],
    ['an event is inserted', between, insert(between)],
    ['an event is inserted before the first', Number('-9223372036854775808'), insert('-9223372036854775808')],
    ['an event is inserted after the last position', last + 1000, insert(last + 1000)],
    ['a version is skipped', newest, [...set('version = 7', newest), newest]],
    [
      'a person’s key is destroyed',
      personal,
      [
        `DELETE FROM ${rows('subject_keys')}
       AND subject_id = (SELECT subject_id FROM events WHERE position = ${personal})`,
      ],
    ],
    [
      'an older seal is changed',
      null,
      [
        `UPDATE seals SET root = sha256('') WHERE organization_id = '${organizationId}'
       AND size = (SELECT min(size) FROM ${rows('seals')})`,
      ],
    ],
    [
      'a seal of events that do not exist is inserted',
      null,
      [
        `INSERT INTO seals SELECT (jsonb_populate_record(s, '{"size": 2000000000, "position": 2000000000}')).*
       FROM ${rows('seals s')} ORDER BY size DESC LIMIT 1`,
      ],
    ],
    [
      'a position in a tile is changed',
      null,
      [
        `UPDATE seal_tiles SET positions[7] = positions[7] + 1000000
       WHERE organization_id = '${organizationId}' AND level = 0 AND index = 1`,
      ],
    ],
    [
      'older seals are deleted',
      undefined,
      [`DELETE FROM ${rows('seals')} AND size < (SELECT max(size) FROM ${rows('seals')})`],
    ],
    [
      'a tile is changed',
      null,
      [
        `UPDATE seal_tiles SET hashes = set_byte(hashes, 40, 255 - get_byte(hashes, 40))
       WHERE organization_id = '${organizationId}' AND level = 0 AND index = 1`,
      ],
    ],
    [
      'an event is rewritten, and the tiles are deleted',
      [first, target],
      [...set(`type = 'PetitionClosed'`), target, `DELETE FROM ${rows('seal_tiles')}`],
    ],
  ];
}

/** Runs the statements as the database's owner in a transaction that is rolled back. For a number, updates the digest of that event. */
async function inDatabase({ source, checkpoint, key }, work) {
  const runner = source.createQueryRunner();
  await runner.startTransaction();
  try {
    await runner.query('SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL statement_timeout = 0');
    await runner.query('GRANT UPDATE, DELETE ON events TO CURRENT_USER');
    await runner.query('ALTER TABLE events DISABLE TRIGGER events_are_append_only');
    for (const one of work) {
      if (typeof one === 'string' && !/^-?\d+$/.test(one)) await runner.query(one);
      else await redigest(runner, one);
    }
    return await verifyDatabase(runner, organizationId, checkpoint, key);
  } finally {
    await runner.rollbackTransaction();
    await runner.release();
  }
}

async function redigest(runner, position) {
  const [row] = await runner.query('SELECT * FROM events WHERE position = $1', [position]);
  const digest = eventDigest(eventOf(row), row.recorded_at);
  await runner.query('UPDATE events SET digest = $2 WHERE position = $1', [position, digest]);
}

function eventOf(row) {
  const { version, type, schema, data, personal, metadata } = row;
  const ids = { organizationId: row.organization_id, streamId: row.stream_id, eventId: row.event_id };
  return {
    ...{ version, type, schema, data, personal, metadata },
    ...{ ...ids, streamType: row.stream_type, subjectId: row.subject_id },
  };
}

/** Ways to tamper with an export: a name, the expected finding (see `judge`), and a change of the lines from the target on. */
function exported({ target, before, first, events }) {
  // An invalid line has no position, so the finding is after the line before it.
  const noLine = before + 1;
  const forged = (event, type) => {
    const { schema, version, streamId, streamType, eventId, subjectId, data, metadata, encryptedPersonal } =
      event;
    const ids = { organizationId, streamId, streamType, eventId, subjectId };
    const body = { ...ids, type, schema, version, data, metadata, personal: encryptedPersonal };
    return { ...event, type, digest: eventDigest(body, event.recordedAt) };
  };
  const [event, second] = events;
  const next = second.position;
  const replace = (from, to) => (lines) => [lines[0].replace(from, to), ...lines.slice(1)];
  const previousOf = (lines) => JSON.parse(lines[0]).previousPosition;
  const withPersonal = events.find(({ encryptedPersonal }) => encryptedPersonal);
  return [
    ['nothing', undefined, (lines) => lines],
    ['data is changed', target, replace('"newsletter":true', '"newsletter":false')],
    ['the time is changed', target, replace(/"recordedAt":"..../, '"recordedAt":"1999')],
    ['personal data is added', target, replace('"personal":null', '"personal":{"name":"Eve"}')],
    [
      'readable personal data is replaced',
      withPersonal.position,
      (lines) => lines.map((line) => line.replace('ada@example.org', 'eve@example.org')),
    ],
    ['a line is removed', target, (lines) => lines.slice(1)],
    [
      'a line is removed, and the next one is adjusted',
      next,
      (lines) => [exportedLine(second, previousOf(lines)), ...lines.slice(2)],
    ],
    [
      'an event is rewritten, with a matching digest',
      [first, target],
      (lines) => [exportedLine(forged(event, 'PetitionClosed'), previousOf(lines)), ...lines.slice(1)],
    ],
    ['two lines swap places', target, ([a, b, ...others]) => [b, a, ...others]],
    ['the position is changed', [target, next], replace(/"position":\d+/, `"position":${next}`)],
    ['a member is added', noLine, replace('"digest":', '"note":"","digest":')],
    ['an unused escape is added', noLine, replace('"type":"', '"type":"\\u0041')],
    ['a line is repeated', target, ([a, ...others]) => [a, a, ...others]],
    ['a number is spelled differently', noLine, replace('"version":2', '"version":2.0')],
    ['a line ends with CRLF', noLine, replace('\n', '\r\n')],
    ['white space is added', noLine, replace('{"position"', '{ "position"')],
    ['the file ends in the middle of a line', noLine, ([a]) => [a.slice(0, 100), null]],
    ['the newest events are missing', [first, target], () => [null]],
    [
      'personal data is removed',
      withPersonal.position,
      (lines) => lines.map((line) => line.replace(/"personal":\{.*?\},"enc/, '"personal":null,"enc')),
    ],
  ];
}

/** Ways to sign a second checkpoint whose tree is consistent with the first one: a name, and a change of its text. */
function notes() {
  return [
    ['of the same size, with another position', (note) => note.replace(/position \d+/, 'position 1')],
    ['of the same size, with another time', (note) => note.replace(/sealed \d{4}/, 'sealed 2001')],
    [
      'of the same size, with another root',
      (note) => note.replace(/\n(.)(.*=\n)/, (_line, one, rest) => `\n${one === 'A' ? 'B' : 'A'}${rest}`),
    ],
    [
      'of fewer events, sealed later',
      (note) =>
        note
          .replace(/\n(\d+)\n/, (_line, size) => `\n${Number(size) - 1}\n`)
          .replace(/sealed \d{4}/, 'sealed 9001'),
    ],
    [
      'of more events, with the same position',
      (note) => note.replace(/\n(\d+)\n/, (_line, size) => `\n${Number(size) + 1}\n`),
    ],
  ];
}

function againstNote({ checkpoint }, change) {
  const other = change(checkpoint);
  const [one, two] = [headOf(checkpoint), headOf(other)];
  const isForked = one.size === two.size && !isConsistent(one, two, []);
  const reason = isForked
    ? `there are two roots of ${one.size} leaves`
    : contradictionOf(claimsOf(checkpoint), claimsOf(other));
  return Promise.resolve({ ok: reason === undefined, events: 0, firstWrongPosition: null, reason });
}

const TESTED = [
  ['a second log under another spelling of an id', 'src/audit/verify/verify-file'],
  ['an export writes to the terminal of the auditor', 'src/audit/verify/verify-file'],
  [
    'two histories of one organization in one log of all',
    'src/audit/verify/verify-database: with a register',
  ],
  ['two contradicting entries in the register', 'src/audit/monitor/register-reader, libs/verify/vectors'],
  ['a signature of a count certificate is changed or removed', 'test/count-certificate, libs/verify/vectors'],
  [
    'an organization is deleted or rolled back',
    'src/audit/verify/verify-database: the log of all organizations',
  ],
  ['a backdated event is sealed', 'src/audit/verify/verify-file: a warning'],
  ['a note is sealed in the future', 'src/audit/witness: not cosigned'],
  ['a note without a position, a time or events is cosigned', 'src/audit/witness: not cosigned'],
  ['a monitored or anchored note is sealed in the future', 'src/audit/monitor, src/audit/anchors'],
  ['an anchored organization is deleted with all its rows', 'test/monitor'],
  ['the record of cosignatures is moved into the future', 'test/witness'],
  ['the schedule of the self-check is moved', 'test/self-check'],
  ['the keys of two people are exchanged', 'test/self-check, libs/projections/projections'],
  ['rows that are rebuilt from events are changed', 'test/self-check'],
  ['recipients of a broadcast are removed', 'test/broadcast'],
  ['recipients of a broadcast are added', 'test/broadcast'],
  ['recipients of a broadcast are exchanged', 'test/broadcast'],
  ['outcomes of recipients are changed', 'test/broadcast'],
  ['figures of a broadcast are changed', 'test/broadcast'],
  ['a cursor is beyond the history, also that of sealing', 'test/self-check'],
  ['a timer is moved or deleted', 'test/self-check'],
  ['a slug leads to another organization', 'test/self-check'],
  ['bytes of an image are exchanged', 'test/image, test/history: history verify --images'],
  ['the protection of the table events is switched off', 'test/doctor'],
];

const NOT_PROVED = [
  ['a count certificate hides a withdrawal behind a hash', 'anyone who reads the whole history sees it'],
  ['an event is appended with SQL', 'it is an event, and no one can remove it later'],
  ['a reader only gets an old checkpoint', 'it is like a time without events: compare with others'],
  ['a cursor is moved within the history', 'a receiver can compare positions with an export'],
  ['deliveries of webhooks are deleted', 'they are not events'],
  ['a session, passkey or sign-in link is inserted', 'what is done with it is an event'],
  ['the target of a counted link is changed', 'the content of the broadcast has the right link'],
  ['a unique key is deleted or inserted', 'a second contact or signature is an event'],
  ['the response of an idempotent request is changed', 'it is kept for 48 hours; what was done is an event'],
  ['reads of the last hour are changed', 'they become an event after the hour'],
  ['personal data of a new event has no digest', 'the verdict counts such events'],
  ['an erasure is recorded that no one asked for', 'it is an event, and hides only the data of that person'],
];

/** Verifies the file, with lines changed on the way to the verifier. */
async function inExport({ file, checkpoint, key, target }, change) {
  const handle = await open(file);
  try {
    const { size } = await stat(file);
    const start = await offsetOf(handle, target);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(64 * 1024), 0, 64 * 1024, start);
    const lines = buffer
      .toString('utf8', 0, bytesRead)
      .split(/(?<=\n)/)
      .slice(0, WINDOW);
    const changed = change(lines);
    const isEnd = changed.includes(null);
    const chunks = async function* () {
      if (start > 0)
        yield* handle.createReadStream({
          start: 0,
          end: start - 1,
          highWaterMark: 2 ** 20,
          autoClose: false,
        });
      yield Buffer.from(changed.filter((line) => line !== null).join(''));
      const end = start + Buffer.byteLength(lines.join(''));
      if (!isEnd) yield* handle.createReadStream({ start: end, highWaterMark: 2 ** 20, autoClose: false });
    };
    return await verifyExport(chunks(), checkpoint, key);
  } finally {
    await handle.close();
  }
}

/** The offset of the line with this position. */
async function offsetOf(handle, position) {
  const line = Buffer.from(`\n{"position":${position},`);
  const buffer = Buffer.alloc(2 ** 20);
  for (let start = 0, bytesRead; ; start += bytesRead - line.length) {
    ({ bytesRead } = await handle.read(buffer, 0, buffer.length, start));
    const found = buffer.subarray(0, bytesRead).indexOf(line);
    if (found >= 0) return start + found + 1;
  }
}

function print(name, position, seconds, report) {
  console.log(name.padEnd(58), String(position).padStart(20), String(seconds).padStart(8), ' ', report);
}
