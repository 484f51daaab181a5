/**
 * The same requests on a small and a large history, each with its own database and server. A fifth of the events create contacts.
 * Each contact has signed the same four petitions. Projections and seals are complete before the measurements.
 */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { v7 as uuidv7 } from 'uuid';
import { eventDigest, Keyring } from '../dist/libs/event-store/index.js';
import { signature } from '../dist/src/petitions/petitions.js';
import { summaryOf } from './harness.mjs';
import { overHttp } from './load.mjs';
import { checkCount, importContacts, lastNameOf, newPetition, signers, writeIds } from './people.mjs';
import { postmasterOf } from './processes.mjs';
import { withProduct } from './servers.mjs';

export const options = {
  small: [10_000, 'events in the small history'],
  large: [5_000_000, 'events in the large history'],
  connections: [64, 'connections; each waits for its response before the next request'],
  rounds: [3, 'rounds per request and history'],
  seconds: [3, 'seconds per round'],
  'warm-up': [2, 'seconds per request and history, before all rounds; 0: none'],
};

const PETITIONS = 4;
const EVENTS_PER_CONTACT = PETITIONS + 1;
/** Signatures per statement. */
const CHUNK = 20_000;
/** Number of different ids, names and requests that the load uses. */
const SAMPLES = 1_000;

export async function run(bench) {
  const directory = await mkdtemp(join(tmpdir(), 'advocacy-bench-'));
  try {
    await bench.withDatabase(
      (small, large) =>
        withPlace(bench.options.small, small, directory, (one) =>
          withPlace(bench.options.large, large, directory, (other) => compare(bench, [one, other])),
        ),
      2,
    );
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Calls `work` with a server whose database has this many events. */
async function withPlace(events, url, directory, work) {
  await withProduct(url, 1, async (product) => {
    const pool = new pg.Pool({ connectionString: url, max: 2 });
    try {
      const place = { ...product, server: product.servers[0], pool, postmaster: await postmasterOf(url) };
      const name = events.toLocaleString('en');
      await work({ ...place, name, requests: await fill(place, events, join(directory, name)) });
    } finally {
      await pool.end();
    }
  });
}

async function compare(bench, places) {
  const { connections, rounds, seconds, 'warm-up': warmUp } = bench.options;
  const contender = (request, { name, server, postmaster }, prepare) =>
    overHttp(`${request}, ${name}`, server, prepare, { connections, seconds, warmUp, postmaster });

  const reads = Object.keys(places[0].requests);
  await measure('reads', reads, (request, place) =>
    contender(request, place, () => ({ ...place.requests[request], key: place.key })),
  );
  // Measured last, because these requests enlarge the small history.
  let signed = 0;
  await measure('writes', ['add-signature'], (request, place) =>
    contender(request, place, async () => {
      const petitionId = await newPetition(place.call);
      const check = async (result) => {
        await checkCount(place.call, petitionId, result);
        signed += result.answered;
      };
      return { ...signers(petitionId), key: place.key, check };
    }),
  );
  bench.note(
    `${signed.toLocaleString('en')} signatures were acknowledged, and the petitions count all of them.`,
  );

  async function measure(title, names, contenderOf) {
    const contenders = names.flatMap((name) => places.map((place) => contenderOf(name, place)));
    const { ratio } = await bench.measure(title, contenders, rounds);
    const [small, large] = places.map((place) => place.name);
    const lines = names.map((name) => {
      const of = (figure) => ratio(`${name}, ${large}`, `${name}, ${small}`, figure);
      return { name, figures: { rate: of('requests/s'), p99: of('p99 ms') } };
    });
    const measured = lines.filter(({ figures }) => figures.rate.length > 0);
    bench.table(`${large} ÷ ${small}`, measured);
    const operationOf = ({ name }) => name.split(',', 1)[0];
    for (const operation of new Set(measured.map(operationOf))) {
      const ofIt = measured.filter((line) => operationOf(line) === operation);
      const medians = (figure) => ofIt.map(({ figures }) => summaryOf(figures[figure]).median);
      bench.target(`${operation}: lowest rate, large ÷ small`, [Math.min(...medians('rate'))], {
        least: 0.9,
      });
      bench.target(`${operation}: highest p99, large ÷ small`, [Math.max(...medians('p99'))], { most: 1.3 });
    }
  }
}

/** Creates the events. @returns the requests for `load` by name */
async function fill({ server, organizationId, key, call, env, pool }, events, prefix) {
  const contacts = Math.floor(events / EVENTS_PER_CONTACT);
  const began = performance.now();
  const ids = await importContacts(pool, server.port, organizationId, key, contacts);
  const petitionIds = [];
  for (let n = 0; n < PETITIONS; n += 1) petitionIds.push(await newPetition(call));
  const actorId = randomUUID();
  const keyring = new Keyring(Buffer.from(env.ENCRYPTION_KEY, 'base64'));
  const requestIds = [];
  for (const petitionId of petitionIds) {
    for (let from = 0; from < ids.length; from += CHUNK) {
      const signing = { organizationId, petitionId, actorId, contactIds: ids.slice(from, from + CHUNK) };
      requestIds.push(...(await appendSignatures(pool, keyring, signing)).slice(0, SAMPLES / 10));
    }
  }
  await projectedAndSealed(pool);
  for (const petitionId of petitionIds) {
    await checkCount(call, petitionId, { answered: contacts, sent: contacts });
  }
  await pool.query('VACUUM (ANALYZE)');
  const seconds = Math.round((performance.now() - began) / 1000);
  console.log(`${events.toLocaleString('en')} events created and projected in ${seconds} s`);

  const [petitionId] = petitionIds;
  const some = (values) =>
    Array.from({ length: SAMPLES }, (_, n) => values[Math.floor((n * values.length) / SAMPLES)]);
  const file = async (name, values) => writeIds(`${prefix}-${name}`, some(values));
  const contactFile = await file('contacts', ids);
  const names = await file(
    'names',
    Array.from({ length: contacts }, (_, n) => lastNameOf(n)),
  );
  const requestFile = await file('requests', requestIds);
  const { rows } = await pool.query(
    'SELECT recorded_at AS time, (SELECT max(position) FROM events) AS last FROM events ORDER BY position LIMIT 1 OFFSET $1',
    [Math.floor(events / 2)],
  );
  const [{ time, last }] = rows;
  const listContacts = `contact.list-contacts?organizationId=${organizationId}`;
  const listSignatures = `petition.list-signatures?petitionId=${petitionId}`;
  const get = (path, values) => ({ path: `/v1/${path}`, ids: values });
  const list = (filter, values) => get(`history.list-events?${filter}`, values);
  return {
    'get-contact': get(`contact.get-contact?organizationId=${organizationId}&contactId={id}`, contactFile),
    'get-petition': get(`petition.get-petition?petitionId=${petitionId}`),
    'list-contacts, first page': get(listContacts),
    'list-contacts, last page': get(
      `${listContacts}&cursor=${await lastPage(server.port, key, listContacts)}`,
    ),
    'list-contacts, q': get(`${listContacts}&q={id}`, names),
    'list-signatures, first page': get(listSignatures),
    'list-signatures, last page': get(
      `${listSignatures}&cursor=${await lastPage(server.port, key, listSignatures)}`,
    ),
    'list-events, first page': list(''),
    'list-events, last page': list(`after=${last - 25}`),
    'list-events, recordType': list('recordType=signature'),
    'list-events, recordId': list('recordId={id}', contactFile),
    'list-events, type': list('type=PetitionSigned'),
    'list-events, actorId': list(`actorId=${actorId}`),
    'list-events, requestId': list('requestId={id}', requestFile),
    'list-events, occurredAfter': list(`occurredAfter=${time.toISOString()}`),
    'list-events, occurredBefore': list(`occurredBefore=${time.toISOString()}`),
  };
}

/**
 * Appends the same rows, digests and unique keys as add-signature, but thousands per statement.
 *
 * @returns the request ids of the events
 */
async function appendSignatures(pool, keyring, { organizationId, petitionId, actorId, contactIds }) {
  const recordedAt = new Date();
  const rows = contactIds.map((contactId) => {
    const event = {
      ...{ organizationId, streamType: 'signature', streamId: uuidv7(), version: 1, eventId: uuidv7() },
      ...{
        type: 'PetitionSigned',
        schema: 1,
        data: { petitionId, contactId },
        personal: null,
        subjectId: contactId,
      },
      metadata: { actor: { type: 'api-key', id: actorId }, requestId: randomUUID() },
    };
    return {
      ...event,
      digest: eventDigest(event, recordedAt),
      key: keyring.hash(...signature.keyOf(petitionId, contactId)),
    };
  });
  const column = (name) => rows.map((row) => row[name]);
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    // Every append takes this lock, so that no reader skips uncommitted positions.
    await client.query(`SELECT pg_advisory_xact_lock_shared((x'4556'::bigint << 48) | last_position())`);
    await client.query(
      `INSERT INTO events (position, organization_id, stream_type, stream_id, version, event_id, type, schema, data, personal,
         subject_id, metadata, recorded_at, digest)
       SELECT nextval('events_position'), $1, 'signature', stream_id, 1, event_id, 'PetitionSigned', 1, data, NULL,
         contact_id, metadata, $2, digest
       FROM unnest($3::uuid[], $4::uuid[], $5::jsonb[], $6::uuid[], $7::jsonb[], $8::bytea[])
         AS t (stream_id, event_id, data, contact_id, metadata, digest)`,
      [
        ...[organizationId, recordedAt, column('streamId'), column('eventId'), column('data'), contactIds],
        ...[column('metadata'), column('digest')],
      ],
    );
    await client.query(
      'INSERT INTO unique_keys (organization_id, key, stream_id) SELECT $1, * FROM unnest($2::bytea[], $3::uuid[])',
      [organizationId, column('key'), column('streamId')],
    );
    await client.query('COMMIT');
  } finally {
    client.release();
  }
  return rows.map(({ metadata }) => metadata.requestId);
}

/** Resolves when all events are projected and sealed. */
async function projectedAndSealed(pool) {
  for (;;) {
    const { rows } = await pool.query(
      `SELECT (SELECT min(position) FROM checkpoints) >= last_position()
         AND (SELECT position FROM sealing) >= last_position() AS settled`,
    );
    if (rows[0].settled) return;
    await sleep(200);
  }
}

/** @returns the cursor of a list's last page. The list is sorted newest first, so its last page starts after the 26th oldest record. */
async function lastPage(port, key, path) {
  const url = `http://127.0.0.1:${port}/v1/${path}&sort=createdAt&limit=26`;
  const response = await fetch(url, { headers: { Authorization: `Bearer ${key}` } });
  const { createdAt, id } = (await response.json()).data.at(-1);
  return Buffer.from(JSON.stringify(['-createdAt', createdAt, id])).toString('base64url');
}
