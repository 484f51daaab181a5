import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { describeError } from '#libs/database';
import { readSchema, type RecordedEvent } from '#libs/event-store';
import { replay } from '#libs/projections';
import { replayables, upcasters } from '../modules.js';
import { inNewestShape, parseExported } from '../history/index.js';
import { programVersion } from '../environment/index.js';
import { UsageError } from './session.js';

/** Maximum characters of an event type in messages, because the file is untrusted. */
const LONGEST_TYPE = 100;

/** Rebuilds the records from an export, and prints them. */
export async function replayFile(
  file: string,
  { until, sha256 }: { until?: string; sha256?: true },
): Promise<void> {
  try {
    const isBefore = limitOf(until);
    let [readable, unstored] = [0, 0];
    async function* events(): AsyncGenerator<RecordedEvent> {
      let number = 0;
      for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
        number += 1;
        const stored = parseExported(line);
        if (!stored) throw new UsageError(`Line ${number} is not an event of an exported history.`);
        if (!isBefore(stored)) continue;
        const { type, schema, personal, encryptedPersonal } = stored;
        const newest = readSchema(upcasters, type);
        if (schema > newest) {
          throw new UsageError(
            `Line ${number} contains ${type.slice(0, LONGEST_TYPE)} in schema ${schema}, written by a newer release. This release, ` +
              `${programVersion()}, reads schemas up to ${newest}. Replay the file with the newer release.`,
          );
        }
        if (personal) readable += 1;
        if (personal && !encryptedPersonal) unstored += 1;
        yield inNewestShape(stored, upcasters);
      }
    }
    const hash = createHash('sha256');
    const unknown = new Set<string>();
    const replayed = await replay(replayables, events(), ({ type }) => unknown.add(type));
    if (unknown.size > 0) {
      const types = [...unknown].map((type) => type.slice(0, LONGEST_TYPE)).join(', ');
      process.stderr.write(`Skipped event types that only a newer release knows: ${types}.\n`);
    }
    if (readable > 0) process.stderr.write(`${unverifiedNotice(readable, unstored)}\n`);
    for (const { object, records } of replayed) {
      for (const record of records) {
        const line = `${JSON.stringify({ object, data: record })}\n`;
        if (sha256) hash.update(line);
        else process.stdout.write(line);
      }
    }
    if (sha256) process.stdout.write(`${hash.digest('hex')}\n`);
  } catch (error) {
    process.stderr.write(`${describeError(error)}\n`);
    process.exitCode = 1;
  }
}

/** Replay does not compare the readable data with its digests. `history verify` does. */
function unverifiedNotice(readable: number, unstored: number): string {
  const events = (count: number) => `${count.toLocaleString('en')} ${count === 1 ? 'event' : 'events'}`;
  const worse = unstored > 0 ? ` For ${events(unstored)}, the server never stored personal data.` : '';
  return `Replay does not verify the file, which has readable personal data in ${events(readable)}. Use history verify.${worse}`;
}

/** The events to apply. For a time, cuts each stream at its first later event, like `asOf` in the API. */
function limitOf(until: string | undefined): (event: RecordedEvent) => boolean {
  if (until === undefined) return () => true;
  if (/^\d+$/.test(until)) return ({ position }) => position <= Number(until);
  const moment = Date.parse(until);
  if (Number.isNaN(moment)) throw new UsageError('--until must be a position or an RFC 3339 time.');
  const later = new Set<string>();
  return ({ streamId, recordedAt }) => {
    if (recordedAt.getTime() > moment) later.add(streamId);
    return !later.has(streamId);
  };
}
