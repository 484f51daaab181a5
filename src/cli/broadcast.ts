import { type Command } from 'commander';
import { setTimeout as sleep } from 'node:timers/promises';
import { Progress } from './progress.js';
import { interruptible, type Session, UsageError, withSession } from './session.js';

/** The interval between two samples, long enough to measure a rate. */
const SAMPLE_MS = 1_000;

export function broadcastCommands(program: Command): void {
  const broadcast = program.command('broadcast').description('monitor broadcasts');
  broadcast
    .command('status')
    .description('show the outcome for its recipients, the sending rate and the remaining time')
    .argument('<id>', 'the id of the broadcast')
    .option('--follow', 'show progress until sending ends, or Ctrl-C')
    .addHelpText(
      'after',
      `
Prints { "broadcastId", "organizationId", "name", "status", "recipients": { "total", "sent", "failed", "skipped", "inDoubt", "bounced",
"complained", "unsubscribed" }, "perSecond", "secondsLeft", "waitsFor" }. "waitsFor" is the reason why nothing can be sent at the
moment, or null. "perSecond" and "secondsLeft" are null while the broadcast is not being sent.`,
    )
    .action((id: string, { follow = false }: { follow?: boolean }) =>
      withSession(program, (session) => status(session, id, follow)),
    );
}

type Status = Awaited<ReturnType<typeof readStatus>>;

async function status(session: Session, id: string, follow: boolean): Promise<object> {
  const interruption = interruptible();
  let before: Status;
  let now = await readStatus(session, id);
  const first = now;
  const isSending = () => now.status === 'SENDING' && !interruption.aborted;
  const progress =
    follow && isSending()
      ? new Progress('messages', () => ({
          count: settledOf(now) - settledOf(first),
          done: settledOf(now),
          total: now.recipients?.total ?? 0,
        }))
      : undefined;
  do {
    before = now;
    if (!isSending()) break;
    await sleep(SAMPLE_MS, undefined, { signal: interruption }).catch(() => undefined);
    now = await readStatus(session, id);
  } while (follow && isSending());
  progress?.stop();
  const perSecond = isSending()
    ? Math.round((settledOf(now) - settledOf(before)) / (SAMPLE_MS / 1_000))
    : null;
  const left = (now.recipients?.total ?? 0) - settledOf(now);
  const { waitsFor, ...shown } = now;
  return { ...shown, perSecond, secondsLeft: perSecond ? Math.ceil(left / perSecond) : null, waitsFor };
}

async function readStatus({ find }: Session, id: string) {
  const { BroadcastFigures } = await import('../broadcasts/index.js');
  const found = await find(BroadcastFigures).status(id);
  if (!found) throw new UsageError('No broadcast has this id.');
  return found;
}

function settledOf({ recipients }: Status): number {
  if (!recipients) return 0;
  const { sent, failed, skipped, inDoubt } = recipients;
  return sent + failed + skipped + inDoubt;
}
