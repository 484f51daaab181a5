import { type Command } from 'commander';
import { rm, writeFile } from 'node:fs/promises';
import { describeError } from '#libs/database';
import { ALL_ORGANIZATIONS, type SignedTree, writeProof } from '#libs/sealing';
import { path, type Session, UsageError, withSession } from './session.js';
import { anchorCommand } from './anchor.js';
import { consistencyCommand } from './consistency.js';
import { monitorCommand } from './monitor.js';
import { rotateKey } from './rotate-key.js';
import { verifyCommand } from './verify.js';

export function historyCommands(program: Command): void {
  const history = program.command('history').description('export, seal, verify and replay the history');
  history
    .command('export')
    .description('write the history of an organization, one event a line')
    .requiredOption('--organization <id>', 'the organization')
    .option(
      '--out <file>',
      'where to; a file that is there already is continued; default: standard output',
      path,
    )
    .addHelpText(
      'after',
      '\nWhere it goes into a file, prints { "events" }, how many were added. Ctrl-C stops it; the same command then ' +
        'goes on where it stopped.',
    )
    .action((options: { organization: string; out?: string }) =>
      withSession(program, async (session) => {
        const { exportHistory } = await import('./export-history.js');
        return exportHistory(session, options);
      }),
    );
  history
    .command('checkpoint')
    .description('seal what is there, and write the signed checkpoint; keep it elsewhere')
    .requiredOption('--organization <id>', 'the organization; all for the log of the checkpoints of all')
    .option('--out <file>', 'where to, with the files below; default: standard output, without them', path)
    .addHelpText(
      'after',
      '\nWhere it goes into a file, prints { "size", "position" }: events sealed, and up to where; beside it are its parts in ' +
        '<file>.parts, and in <file>.tlog-proof the proof that it is in the log of all organizations. Of that log itself size is the ' +
        'number of checkpoints, and beside it is <file>.organizations: what it has last of each. What is not what was signed ' +
        'before is looked at now, and signed if it was mended; otherwise the last checkpoint that was signed is written, and the ' +
        'status is 1. The witnesses in WITNESS_URLS are asked to cosign it; who does not is named on standard error, and the status is 1 ' +
        'if one contradicts it.',
    )
    .action((options: { organization: string; out?: string }) =>
      withSession(program, (session) => writeCheckpoint(session, options)),
    );
  const key = history
    .command('key')
    .description('write the public key that checkpoints are verified with')
    .option(
      '--organization <id>',
      'for the checkpoints of one organization, or all for those of all together, under their origin’s name as stock tools want it',
    )
    .option('--out <file>', 'where to; default: standard output', path)
    .addHelpText('after', '\nWhere it goes into a file, prints { "key" }.')
    .action((options: { organization?: string; out?: string }) =>
      withSession(program, async ({ runtime: { signers }, requireLog }) => {
        const { organization } = options;
        const key =
          organization === undefined
            ? signers.verifierKey
            : signers.verifierKeyOf(await requireLog(organization));
        return write(options.out, `${key}\n`, { key });
      }),
    );
  key
    .command('rotate')
    .description(
      'tell each history that SIGNING_KEY has taken the place of the first key in SIGNING_KEY_PREVIOUS',
    )
    .addHelpText(
      'after',
      '\nWhoever has the key before can then verify with it what the next one signs. Prints { "from", "to", "organizations", ' +
        '"told" }: the keys, and how many histories there are and were told it now. Once more does no harm.',
    )
    .action(() => withSession(program, rotateKey));
  history
    .command('status')
    .description(
      'how far the history is sealed, of which organizations it is not, what the self-check found, and whom a witness contradicts',
    )
    .addHelpText(
      'after',
      '\nPrints { "sealed", "last", "refused": [{ "organizationId", "since", "reason" }, 100 at most], "selfCheck": { "findings": ' +
        '[{ "kind", "subject", "finding", "since" }], "subjects", "current" }, "contradicted": [{ "organizationId", "witness", "since", ' +
        '"reason" }] }; status 1 if anything is refused, found or contradicted. What to do then: docs/guides/runbooks/history-quarantined.md.',
    )
    .action(() =>
      withSession(program, async ({ runtime: { sealer, selfCheck, cosigning } }) => {
        const { sealed, last } = await sealer.progress();
        const checked = await selfCheck.status();
        const refused = await sealer.refused();
        const contradicted = await cosigning.alarms();
        if (refused.length + checked.findings.length + contradicted.length > 0) process.exitCode = 1;
        return { sealed, last, refused, selfCheck: checked, contradicted };
      }),
    );
  history
    .command('replay')
    .description('rebuild the records from an exported history alone, and print them, one a line')
    .argument('<file>', 'what history export wrote', path)
    .option('--until <moment>', 'only events up to this position or RFC 3339 moment')
    .option('--sha256', 'print the SHA-256 of the lines instead')
    .action(async (file: string, options: { until?: string; sha256?: true }) => {
      const { replayFile } = await import('./replay.js');
      await replayFile(file, options);
    });
  history
    .command('request-id')
    .description('what stands for an X-Request-Id in logs and events')
    .argument('<id>', 'the id as the client sent it')
    .addHelpText(
      'after',
      '\nPrints { "requestId" }: the id itself, or a keyed hash where it could hold personal data.',
    )
    .action((id: string) =>
      withSession(program, async ({ runtime: { store } }) => {
        const { storedRequestId } = await import('#libs/rpc');
        return { requestId: storedRequestId(id, store.keyring) };
      }),
    );
  verifyCommand(history);
  consistencyCommand(history);
  monitorCommand(history);
  anchorCommand(history, program);
}

async function writeCheckpoint(
  session: Session,
  { organization, out }: { organization: string; out?: string },
): Promise<object | undefined> {
  const { runtime, requireLog } = session;
  const { sealer, checkpoints } = runtime;
  const id = await requireLog(organization);
  await sealer.sign(id);
  const refusal = await sealer.mend(id);
  if (refusal !== undefined) {
    const whose = id === organization ? 'of this organization' : 'in the log of all organizations';
    process.stderr.write(
      `Nothing more is sealed ${whose}: ${refusal}. See docs/guides/runbooks/history-quarantined.md.\n`,
    );
    process.exitCode = 1;
  }
  if (id === ALL_ORGANIZATIONS) {
    await sealer.logAll();
    const checkpoint = await checkpoints.last(id);
    const { size, position } = checkpoint;
    if (out !== undefined) {
      await writeNextTo(`${out}.organizations`, await checkpoints.organizations(checkpoint));
    }
    return write(out, await cosigned(session, checkpoint), { size, position });
  }
  const { checkpoint, inAll } = await checkpoints.lastInAll(id);
  const { size, position } = checkpoint;
  if (out !== undefined) {
    await writeNextTo(`${out}.parts`, await checkpoints.parts(checkpoint));
    await writeNextTo(`${out}.tlog-proof`, inAll ? writeProof(inAll) : '');
  }
  return write(out, await cosigned(session, checkpoint), { size, position });
}

/** The note with the cosignatures of all witnesses that give theirs now. */
async function cosigned({ runtime: { cosigning } }: Session, checkpoint: SignedTree): Promise<string> {
  for (const { witness, reason, contradicts } of await cosigning.ask(checkpoint)) {
    process.stderr.write(`The witness ${witness} has not cosigned it: ${reason}.\n`);
    if (contradicts) process.exitCode = 1;
  }
  return (await cosigning.cosigned(checkpoint)).note;
}

/** What is there of an earlier checkpoint does not stay beside this one. */
async function writeNextTo(file: string, text: string): Promise<void> {
  if (text === '') await rm(file, { force: true });
  else await write(file, text, {});
}

/** @returns what is printed of it: nothing where the text itself is. */
async function write(file: string | undefined, text: string, about: object): Promise<object | undefined> {
  if (file === undefined) {
    process.stdout.write(text);
    return undefined;
  }
  await writeFile(file, text).catch((error: unknown) => {
    throw new UsageError(`The file cannot be written: ${describeError(error)}.`);
  });
  return about;
}
