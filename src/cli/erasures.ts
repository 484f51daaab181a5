import { type Command } from 'commander';
import { createReadStream } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { describeError } from '#libs/database';
import { path, type Session, UsageError, withSession } from './session.js';

/** Read at once; a line has some hundred bytes. */
const PAGE = 10_000;

type Erasure = { position: number; organizationId: string; contactId: string; erasedAt: string };

/**
 * A backup brings back the keys of persons who were erased after it was made. The list of erasures holds no personal data
 * and is kept beside the backups; after a restore it says who is to be erased again.
 */
export function erasuresCommands(program: Command): void {
  const erasures = program
    .command('erasures')
    .description('keep the list of who was erased, and erase them again after a backup was restored');
  erasures
    .command('list')
    .description('write all erasures, one a line: ids and moments, no personal data')
    .option('--out <file>', 'where to, whole or not at all; default: standard output', path)
    .addHelpText(
      'after',
      '\nWhere they go into a file, prints { "erasures" }, how many there are. Keep it where the backups are, and write it ' +
        'more often.',
    )
    .action(({ out }: { out?: string }) => withSession(program, (session) => list(session, out)));
  erasures
    .command('apply')
    .description('erase everybody on a list who stands: after a restore, before servers are started')
    .argument('<file>', 'what erasures list wrote, or - for standard input', path)
    .addHelpText(
      'after',
      '\nPrints { "erased", "notThere" }: who is erased now, those of before included, and who was made after the backup. ' +
        'Status 1 if a line is no erasure; all others are applied.',
    )
    .action((file: string) => withSession(program, (session) => apply(session, file)));
}

async function list(
  { runtime: { source } }: Session,
  out: string | undefined,
): Promise<{ erasures: number } | undefined> {
  const lines: string[] = [];
  for (let after = 0; ;) {
    const rows = await source.query<
      { position: string; organization_id: string; stream_id: string; recorded_at: Date }[]
    >(
      `SELECT position, organization_id, stream_id, recorded_at FROM events
       WHERE type = 'ContactErased' AND position > $1 ORDER BY position LIMIT ${PAGE}`,
      [after],
    );
    for (const { position, organization_id, stream_id, recorded_at } of rows) {
      const erasure: Erasure = {
        position: Number(position),
        organizationId: organization_id,
        contactId: stream_id,
        erasedAt: recorded_at.toISOString(),
      };
      lines.push(`${JSON.stringify(erasure)}\n`);
      after = erasure.position;
    }
    if (rows.length < PAGE) break;
  }
  if (out === undefined) {
    process.stdout.write(lines.join(''));
    return undefined;
  }
  const draft = `${out}.${process.pid}.part`;
  await writeFile(draft, lines.join(''), { mode: 0o600, flush: true })
    .then(() => rename(draft, out))
    .catch((error: unknown) => {
      throw new UsageError(`The file cannot be written: ${describeError(error)}.`);
    });
  return { erasures: lines.length };
}

async function apply(session: Session, file: string): Promise<{ erased: number; notThere: number }> {
  const { isId, RpcError } = await import('#libs/rpc');
  const { DeleteContact } = await import('../contacts/index.js');
  const answer = { erased: 0, notThere: 0 };
  let number = 0;
  const text = file === '-' ? process.stdin : createReadStream(file);
  for await (const line of createInterface({ input: text, crlfDelay: Infinity })) {
    number += 1;
    const erasure = read(line);
    if (!isId(erasure.organizationId) || !isId(erasure.contactId)) {
      process.exitCode = 1;
      process.stderr.write(`Line ${number} is no erasure.\n`);
      continue;
    }
    const { organizationId, contactId } = erasure;
    try {
      await session.run(session.input(DeleteContact, organizationId, { contactId }));
      answer.erased += 1;
    } catch (error) {
      if (!(error instanceof RpcError) || error.code !== 'NOT_FOUND') throw error;
      answer.notThere += 1;
    }
  }
  return answer;
}

/** With no ids where there are none. */
function read(line: string): Pick<Erasure, 'organizationId' | 'contactId'> {
  try {
    const { organizationId = '', contactId = '' } = JSON.parse(line) as Partial<Erasure>;
    return { organizationId, contactId };
  } catch {
    return { organizationId: '', contactId: '' };
  }
}
