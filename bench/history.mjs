/** Creates a history to verify: in a database, sealed and exported. */
import { randomBytes, randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { Checkpoints, Sealer, Signers } from '../dist/libs/sealing/index.js';
import { exportedLine } from '../dist/src/history/exported-event.js';
import { data, metadata, personal } from './sample-event.mjs';

const EVENTS_PER_STREAM = 10;
const STREAMS_PER_COMMAND = 100;
const SEALS = 10;

const signers = new Signers([randomBytes(32)]);

/**
 * Appends this many events in streams of ten. The first event of each stream has personal data. Events of another organization are
 * in between.
 */
export async function appendHistory(source, store, organizationId, events) {
  const other = randomUUID();
  for (let written = 0, sealed = 0; written < events;) {
    const count = Math.min(STREAMS_PER_COMMAND * EVENTS_PER_STREAM, events - written);
    const writes = [];
    for (let n = 0; n < count; n += EVENTS_PER_STREAM) {
      const streamId = randomUUID();
      const own = Array.from({ length: Math.min(EVENTS_PER_STREAM, count - n) }, (_, m) => ({
        type: 'PetitionSigned',
        data: { ...data, n: written + n + m },
        ...(m === 0 ? { personal } : {}),
      }));
      writes.push({
        streamType: 'signature',
        streamId,
        subjectId: streamId,
        expectedVersion: 0,
        events: own,
      });
    }
    await append(store, organizationId, writes);
    const event = { type: 'PetitionSigned', data };
    await append(store, other, [
      { streamType: 'signature', streamId: randomUUID(), expectedVersion: 0, events: [event] },
    ]);
    written += count;
    if (written - sealed < events / SEALS) continue;
    // Reading the checkpoint keeps its seal. Other seals are deleted when the next one is created.
    await sealHistory(source, organizationId);
    sealed = written;
  }
}

/** @param erases subjects whose encryption keys are destroyed */
export async function append(store, organizationId, writes, erases = []) {
  const { status } = await store.append({ organizationId, metadata, writes, erases });
  if (status !== 'appended') throw new Error(`The append ended as "${status}".`);
}

/** Seals all events. @returns the checkpoint and its verifier key */
export async function sealHistory(source, organizationId) {
  const sealer = new Sealer(source, signers, console);
  await sealer.seal();
  const { note } = await new Checkpoints(source, sealer).last(organizationId);
  return { checkpoint: note, key: signers.verifierKey };
}

export async function exportHistory(store, organizationId, file) {
  await pipeline(linesOf(store, organizationId), createWriteStream(file));
}

async function* linesOf(store, organizationId) {
  const upTo = await store.horizon();
  for (let previous = 0, more = true; more;) {
    const { events, hasMore } = await store.readHistory(
      organizationId,
      { after: previous, upTo },
      1_000,
      {},
      'export',
    );
    let lines = '';
    for (const event of events) {
      lines += exportedLine(event, previous);
      previous = event.position;
    }
    yield lines;
    more = hasMore;
  }
}
