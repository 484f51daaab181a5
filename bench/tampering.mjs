/**
 * Tampers with the history in every possible way, in the database and in an export. The verification must find each one,
 * locate it, and report it in a sentence.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { open, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrate, openDatabase } from '../dist/libs/database/index.js';
import { eventDigest, EventStore, Keyring } from '../dist/libs/event-store/index.js';
import { migrations } from '../dist/migrations/index.js';
import { exportedLine } from '../dist/src/history/exported-event.js';
import { verifyDatabase, verifyExport } from '../dist/src/audit/index.js';
import { append, appendHistory, exportHistory, sealHistory } from './history.mjs';

export const options = { events: [1_000_000, 'of the history'] };

export async function run(bench) {
  await bench.withDatabase((url) => tamper(url, bench.options.events));
}

const organizationId = randomUUID();

/** @throws if a tampering was not found, or found elsewhere */
async function tamper(url, count) {
  const directory = await mkdtemp(join(tmpdir(), 'advocacy-tampering-'));
  const source = await openDatabase({ url, poolSize: 4, migrations });
  try {
    await migrate(source);
    const history = await write(source, count, join(directory, 'history.ndjson'));
    console.log(`${count.toLocaleString('en')} events, sealed; tampered with, one way after the other\n`);
    print('', 'position', 'seconds', 'told');
    let failures = 0;
    for (const [name, expected, work] of database(history)) {
      const isRight = await judge(`database: ${name}`, expected, () => inDatabase(history, work));
      if (!isRight) failures += 1;
    }
    for (const [name, expected, change] of exported(history)) {
      const isRight = await judge(`export: ${name}`, expected, () => inExport(history, change));
      if (!isRight) failures += 1;
    }
    const memory = (process.resourceUsage().maxRSS / 1024).toFixed(0);
    console.log(`\n${memory} MiB of memory at most, including the creation of the history`);
    if (failures > 0) throw new Error(`${failures} were not found, or not where they are.`);
  } finally {
    await source.destroy();
    await rm(directory, { recursive: true, force: true });
  }
}

/** A history in the database and in a file, with a person erased after it was sealed. */
async function write(source, count, file) {
  const store = new EventStore(source, new Keyring(randomBytes(32)));
  await appendHistory(source, store, organizationId, count);
  const contact = { streamType: 'contact', streamId: randomUUID() };
  const created = { type: 'ContactCreated', data: {}, personal: { email: 'gone@example.org' } };
  const born = { ...contact, subjectId: contact.streamId, expectedVersion: 0, events: [created] };
  await append(store, organizationId, [born]);
  const sealed = await sealHistory(source, organizationId);
  const erased = { ...contact, expectedVersion: 1, events: [{ type: 'ContactErased', data: {} }] };
  await append(store, organizationId, [erased], [contact.streamId]);
  await exportHistory(store, organizationId, file);
  return { source, file, ...sealed, ...(await positions(source, store, count)) };
}

/**
 * Prints the result of the verification.
 *
 * @param expected the position or range of the finding, null for one without a position, or undefined for none
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
  print(name, found ?? '-', seconds.toFixed(1), (ok ? `correctly nothing${rate}` : reason) + wanted);
  return isRight;
}

/** The number of lines from the target on that a tampering may change. */
const WINDOW = 12;

/** Positions of the second event of a stream in the middle, of the events after it, of the newest and of others. */
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
    /** One of the newest sealed events. */
    sealed: await of(`SELECT position ${own} ORDER BY position DESC OFFSET 3 LIMIT 1`),
    /** An event of another organization, between its own. */
    between: await of(
      `SELECT min(position) AS position FROM events WHERE organization_id <> $1 AND position > ${target}`,
    ),
    last: await of('SELECT last_position() AS position WHERE $1::uuid IS NOT NULL'),
  };
}

/** Ways to tamper with the database: a name, the expected position (undefined if nothing is wrong), and statements. */
function database({ target, events, newest, first, personal, sealed, last, between }) {
  const next = events[1].position;
  const set = (assignments, position = target) => [
    `UPDATE events SET ${assignments} WHERE position = ${position}`,
  ];
  const remove = (condition) => [
    `DELETE FROM events WHERE organization_id = '${organizationId}' AND ${condition}`,
  ];
  const rows = (table) => `${table} WHERE organization_id = '${organizationId}'`;
  const putIn = (position) => [
    'ALTER TABLE events DROP CONSTRAINT events_from_1',
    ...(position === between ? [`DELETE FROM events WHERE position = ${between}`] : []),
    `INSERT INTO events SELECT ${position}, organization_id, stream_type, gen_random_uuid(), 1, gen_random_uuid(), type,
       schema, data, NULL, NULL, metadata, recorded_at, digest FROM events WHERE position = ${target}`,
    position,
  ];
  return [
    ['nothing', undefined, []],
    ['data are changed', target, set(`data = data || '{"newsletter": false}'`)],
    ['the time is changed', target, set(`recorded_at = recorded_at - interval '1 day'`)],
    ['the actor is changed', target, set(`metadata = jsonb_set(metadata, '{actor,id}', '"another"')`)],
    [
      'personal data are changed',
      personal,
      set('personal = set_byte(personal, 40, 255 - get_byte(personal, 40))', personal),
    ],
    ['the type is changed, with a digest that fits', target, [...set(`type = 'PetitionClosed'`), target]],
    ['an event is removed', target, remove(`position = ${target}`)],
    ['the newest are removed', sealed, remove(`position >= ${sealed}`)],
    ['an event is given to another organization', target, set('organization_id = gen_random_uuid()')],
    [
      'two events change places',
      target,
      [
        ...set('position = 2000000000'),
        ...set(`position = ${target}`, next),
        ...set(`position = ${next}`, 2_000_000_000),
      ],
    ],
    ['an event is put in', between, putIn(between)],
    ['an event is put in before all', Number('-9223372036854775808'), putIn('-9223372036854775808')],
    ['an event is put in beyond the last position', last + 1000, putIn(last + 1000)],
    ['a version is left out', newest, [...set('version = 7', newest), newest]],
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
      'seals are thinned',
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
      'an event is rewritten, and its tile too',
      [first, target],
      [...set(`type = 'PetitionClosed'`), target, `DELETE FROM ${rows('seal_tiles')}`],
    ],
  ];
}

/** Runs statements as the database's owner in a transaction that is rolled back. A number gives that event a matching digest. */
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

/** Ways to tamper with an export: a name, the expected position, and a change of the lines from the target on. */
function exported({ target, before, first, events }) {
  // An invalid line has no position.
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
    ['data are changed', target, replace('"newsletter":true', '"newsletter":false')],
    ['the time is changed', target, replace(/"recordedAt":"..../, '"recordedAt":"1999')],
    ['personal data are put in', target, replace('"personal":null', '"personal":{"name":"Eve"}')],
    ['a line is removed', target, (lines) => lines.slice(1)],
    [
      'a line is removed, and the next follows',
      next,
      (lines) => [exportedLine(second, previousOf(lines)), ...lines.slice(2)],
    ],
    [
      'an event is rewritten with a digest that fits',
      [first, target],
      (lines) => [exportedLine(forged(event, 'PetitionClosed'), previousOf(lines)), ...lines.slice(1)],
    ],
    ['two lines change places', target, ([a, b, ...others]) => [b, a, ...others]],
    ['a line is there twice', target, ([a, ...others]) => [a, a, ...others]],
    ['a number is written otherwise', noLine, replace('"version":2', '"version":2.0')],
    ['a line ends as in Windows', noLine, replace('\n', '\r\n')],
    ['white space is put in', noLine, replace('{"position"', '{ "position"')],
    ['it is cut off in the middle of a line', noLine, ([a]) => [a.slice(0, 100), null]],
    ['the newest are left out', [first, target], () => [null]],
    [
      'personal data are taken away',
      withPersonal.position,
      (lines) => lines.map((line) => line.replace(/"personal":\{.*?\},"enc/, '"personal":null,"enc')),
    ],
  ];
}

/** Changes lines between the file and the verifier. */
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
    return await verifyExport(chunks(), checkpoint, key, undefined, { threads: size > 2 ** 24 ? 2 : 0 });
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

function print(name, position, seconds, told) {
  console.log(name.padEnd(52), String(position).padStart(20), String(seconds).padStart(8), ' ', told);
}
