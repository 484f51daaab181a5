import { type Command } from 'commander';
import { createReadStream } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { describeError } from '#libs/database';
import { path, type Session, UsageError, withSession } from './session.js';

/** Rows per query. A line has about a hundred bytes. */
const PAGE = 10_000;

/**
 * A page of erasures: the person, and the contacts that were merged into that person before. A restored backup may be older
 * than the merge. The erasure that is a part of a merge has no ids: that person still exists.
 */
const ERASED = `
  SELECT erased.position, erased.organization_id, erased.recorded_at, CASE WHEN merged.type IS NULL THEN ARRAY(
    WITH RECURSIVE same(id) AS (
      SELECT erased.stream_id
      UNION
      SELECT duplicate::uuid FROM same
      JOIN events m ON m.organization_id = erased.organization_id AND m.stream_id = same.id
        AND m.type = 'DuplicatesMerged'
      CROSS JOIN jsonb_array_elements_text(m.data->'contactIds') AS duplicate
    )
    SELECT id FROM same
  ) END AS ids
  FROM (
    SELECT position, organization_id, stream_id, version, recorded_at FROM events
    WHERE type = 'ContactErased' AND position > $1 ORDER BY position LIMIT ${PAGE}
  ) AS erased
  LEFT JOIN events merged ON merged.organization_id = erased.organization_id
    AND merged.stream_id = erased.stream_id AND merged.version = erased.version - 1 AND merged.type = 'ContactMerged'
  ORDER BY erased.position`;

type Erasure = { position: number; organizationId: string; contactId: string; erasedAt: string };

/**
 * A backup contains the keys of people who are erased later, so restoring it makes their data readable again. Operators keep the list
 * of erasures, which contains no personal data, with the backups. Applying it after a restore erases these people again.
 */
export function erasuresCommands(program: Command): void {
  const erasures = program
    .command('erasures')
    .description('list erasures, and apply them again after a restore');
  erasures
    .command('list')
    .description('export all erasures, one per line: ids and times, no personal data')
    .option(
      '--out <file>',
      'the output file, written completely or not at all (default: standard output)',
      path,
    )
    .addHelpText(
      'after',
      '\nWith --out, prints { "erasures" }, the number of erasures. Keep the file with your backups, and update it more often than the backups.',
    )
    .action(({ out }: { out?: string }) => withSession(program, (session) => list(session, out)));
  erasures
    .command('apply')
    .description('erase everyone on a list again; run it after a restore, before servers start')
    .argument('<file>', 'the output of erasures list, or - for standard input', path)
    .addHelpText(
      'after',
      '\nPrints { "erased", "notThere" }: the people erased now, including those already erased, and those created after the ' +
        'backup, who do not exist. Exits with status 1 if a line is invalid. All other lines are applied.',
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
      { position: string; organization_id: string; ids: string[] | null; recorded_at: Date }[]
    >(ERASED, [after]);
    for (const { position, organization_id, ids, recorded_at } of rows) {
      after = Number(position);
      for (const contactId of ids ?? []) {
        const erasedAt = recorded_at.toISOString();
        const erasure: Erasure = { position: after, organizationId: organization_id, contactId, erasedAt };
        lines.push(`${JSON.stringify(erasure)}\n`);
      }
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
      throw new UsageError(`Cannot write the file: ${describeError(error)}.`);
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
      process.stderr.write(`Line ${number} is not an erasure.\n`);
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

/** Parses a line. An id is empty if the line has none. */
function read(line: string): Pick<Erasure, 'organizationId' | 'contactId'> {
  try {
    const { organizationId = '', contactId = '' } = JSON.parse(line) as Partial<Erasure>;
    return { organizationId, contactId };
  } catch {
    return { organizationId: '', contactId: '' };
  }
}
