import { type Command } from 'commander';
import { rm, writeFile } from 'node:fs/promises';
import { describeError } from '#libs/database';
import { ALL_ORGANIZATIONS, REGISTER, type SignedTree, writeProof } from '#libs/sealing';
import { path, type Session, UsageError, withSession } from './session.js';
import { anchorCommand } from './anchor.js';
import { consistencyCommand } from './consistency.js';
import { monitorCommand } from './monitor.js';
import { rotateKey } from './rotate-key.js';
import { verifyCommand, verifyCountCommand, verifyEventCommand } from './verify.js';

export function historyCommands(program: Command): void {
  const history = program.command('history').description('export, seal, verify and replay the history');
  history
    .command('export')
    .description('export the history of an organization, one event per line')
    .requiredOption('--organization <id>', 'the organization')
    .option(
      '--out <file>',
      'the output file; an existing export is continued (default: standard output)',
      path,
    )
    .addHelpText(
      'after',
      '\nWith --out, prints { "events" }, the number of events added. To resume an interrupted export, run the same command.',
    )
    .action((options: { organization: string; out?: string }) =>
      withSession(program, async (session) => {
        const { exportHistory } = await import('./export-history.js');
        return exportHistory(session, options);
      }),
    );
  history
    .command('checkpoint')
    .description('seal all events and write the signed checkpoint; keep it elsewhere')
    .requiredOption('--organization <id>', 'the organization, or all for the log of all organizations')
    .option(
      '--out <file>',
      'the output file, with the files below (default: standard output, without them)',
      path,
    )
    .addHelpText(
      'after',
      '\nWith --out, prints { "size", "position" }: the number of sealed events, and the position up to which all events are in it. Also writes ' +
        '<file>.parts, which locates differences, and <file>.tlog-proof, the proof that the checkpoint is in the log of all ' +
        'organizations. For --organization all, size is the number of checkpoints, and <file>.organizations lists the last ' +
        'checkpoint of each organization. A quarantined history is checked again, and signed if it was repaired. Otherwise the ' +
        'last signed checkpoint is written, and the status is 1. The command asks the witnesses in WITNESS_URLS to cosign. ' +
        'Those that do not are listed on standard error. If one contradicts the checkpoint, the status is 1.',
    )
    .action((options: { organization: string; out?: string }) =>
      withSession(program, (session) => writeCheckpoint(session, options)),
    );
  const key = history
    .command('key')
    .description('write the public key that verifies checkpoints')
    .option(
      '--organization <id>',
      'name the key after this origin, as stock tools expect: the id of an organization, or all for the log of all organizations',
    )
    .option('--out <file>', 'the output file (default: standard output)', path)
    .addHelpText('after', '\nWith --out, prints { "key" }.')
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
    .description('record in each history that SIGNING_KEY replaces the first key in SIGNING_KEY_PREVIOUS')
    .addHelpText(
      'after',
      '\nAuditors with the previous key can then verify what the new key signs. Prints { "from", "to", "organizations", "told" }: ' +
        'both keys, the number of histories, and in how many it was recorded now. You can run it again safely.',
    )
    .action(() => withSession(program, rotateKey));
  history
    .command('status')
    .description(
      'show sealing progress, quarantined histories, findings of the self-check and contradictions by witnesses',
    )
    .addHelpText(
      'after',
      '\nPrints { "sealed", "last", "refused": [{ "organizationId", "since", "reason" }, 100 at most], "selfCheck": { "findings": ' +
        '[{ "kind", "subject", "finding", "since" }], "subjects", "current" }, "contradicted": [{ "organizationId", "witness", "since", ' +
        '"reason" }] }. Exits with status 1 if any history is refused (quarantined), changed or contradicted. ' +
        'See docs/guides/runbooks/history-quarantined.md.',
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
    .description('rebuild the records from an export only, and print them, one per line')
    .argument('<file>', 'the export', path)
    .option('--until <moment>', 'only events up to this position or RFC 3339 time')
    .option('--sha256', 'print the SHA-256 of the lines instead')
    .action(async (file: string, options: { until?: string; sha256?: true }) => {
      const { replayFile } = await import('./replay.js');
      await replayFile(file, options);
    });
  history
    .command('request-id')
    .description('show how an X-Request-Id appears in logs and events')
    .argument('<id>', 'the id that the client sent')
    .addHelpText(
      'after',
      '\nPrints { "requestId" }: the id itself, or a keyed hash if it could contain personal data.',
    )
    .action((id: string) =>
      withSession(program, async ({ runtime: { store } }) => {
        const { storedRequestId } = await import('#libs/rpc');
        return { requestId: storedRequestId(id, store.keyring) };
      }),
    );
  verifyCommand(history);
  verifyCountCommand(history);
  verifyEventCommand(history);
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
  if (id === REGISTER) {
    const { Register } = await import('../history/index.js');
    await sealer.logAll();
    await session.find(Register).run();
  }
  await sealer.sign(id);
  const refusal = await sealer.mend(id);
  if (refusal !== undefined) {
    const whose = id === organization ? 'for this organization' : 'for the log of all organizations';
    process.stderr.write(
      `Sealing has stopped ${whose}: ${refusal}. See docs/guides/runbooks/history-quarantined.md.\n`,
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

/** Asks all witnesses for cosignatures. @returns the note with the cosignatures */
async function cosigned({ runtime: { cosigning } }: Session, checkpoint: SignedTree): Promise<string> {
  for (const { witness, reason, contradicts } of await cosigning.ask(checkpoint)) {
    process.stderr.write(`Witness ${witness} did not cosign the checkpoint: ${reason}.\n`);
    if (contradicts) process.exitCode = 1;
  }
  return (await cosigning.cosigned(checkpoint)).note;
}

/** Replaces the file of an earlier checkpoint. Removes it if there is no text. */
async function writeNextTo(file: string, text: string): Promise<void> {
  if (text === '') await rm(file, { force: true });
  else await write(file, text, {});
}

/** @returns the result to print; nothing if the text itself was printed. */
async function write(file: string | undefined, text: string, about: object): Promise<object | undefined> {
  if (file === undefined) {
    process.stdout.write(text);
    return undefined;
  }
  await writeFile(file, text).catch((error: unknown) => {
    throw new UsageError(`Cannot write the file: ${describeError(error)}.`);
  });
  return about;
}
