import { type Command, InvalidArgumentError } from 'commander';
import { setTimeout as sleep } from 'node:timers/promises';
import { describeError } from '#libs/database';
import { idOf, nameOf } from '#libs/sealing';
import { AnchorDirectory, Anchors } from '../anchors/index.js';
import { secondsOf } from './outside.js';
import { interruptible, path, type Session, withSession } from './session.js';

type Options = { to: string; every?: number; organization?: string[] };

/** Adds `anchor` to the commands of `history`. */
export function anchorCommand(history: Command, program: Command): void {
  history
    .command('anchor')
    .description('keep each new checkpoint in a directory outside, never over one that is there')
    .requiredOption(
      '--to <directory>',
      'where to: <directory>/<organizationId>/<size>.checkpoint',
      directoryOf,
    )
    .option('--every <seconds>', 'go on, from one look to the next; left out, look once', secondsOf)
    .option(
      '--organization <id...>',
      'of these organizations, all for the log of all of them; left out, every one',
    )
    .addHelpText(
      'after',
      `
Prints { "anchored" }, how many were new, after each look that had any. Ends with status 1 if what is signed now contradicts what is
anchored: another history, or a shorter one, after a restore of a backup, say. Both notes are on standard error then, and what
is anchored stays. Put the directory where the server cannot change what is there: a disk of another machine, written once.`,
    )
    .action((options: Options) => withSession(program, (session) => anchor(session, options)));
}

function directoryOf(text: string): string {
  if (/^[a-z0-9]+:\/\//i.test(text)) throw new InvalidArgumentError('It is a directory.');
  return path(text);
}

async function anchor(session: Session, { to, every, organization }: Options): Promise<void> {
  for (const id of organization ?? []) await session.requireLog(id);
  const store = new AnchorDirectory(to);
  const anchoring = new Anchoring(session, store, organization);
  const signal = interruptible();
  do {
    const anchored = await anchoring.addAll();
    if (anchored > 0 || every === undefined) process.stdout.write(`${JSON.stringify({ anchored })}\n`);
    if (every === undefined && anchoring.isInTrouble) process.exitCode = 1;
    if (every === undefined || process.exitCode === 1) return;
    await sleep(every * 1_000, undefined, { signal }).catch(() => undefined);
  } while (!signal.aborted);
}

/** Anchors what there is of all, whatever is wrong with one. */
class Anchoring {
  private readonly anchors: Anchors;
  /** What was said of an organization, or of all: said again when it is something else. */
  private readonly told = new Map<string, string>();

  constructor(
    private readonly session: Session,
    private readonly store: AnchorDirectory,
    private readonly given: readonly string[] | undefined,
  ) {
    this.anchors = new Anchors(store);
  }

  get isInTrouble(): boolean {
    return this.told.size > 0;
  }

  /** @returns how many were new. Sets the exit status where one contradicts what is anchored. */
  async addAll(): Promise<number> {
    let anchored = 0;
    const organizations = await this.tolerantly('Nothing could be anchored', () => this.organizations());
    for (const organizationId of organizations ?? []) {
      const added = await this.tolerantly(`Organization ${organizationId} could not be anchored`, () =>
        this.add(organizationId),
      );
      if (added) anchored += 1;
    }
    return anchored;
  }

  private async add(organizationId: string): Promise<boolean> {
    const { checkpoints } = this.session.runtime;
    const checkpoint = await checkpoints.last(idOf(organizationId));
    const proveFrom = (size: number) => checkpoints.consistency(checkpoint, size);
    const added = await this.anchors.add({ ...checkpoint, organizationId, proveFrom });
    if (!('alarm' in added)) return added.isNew;
    process.stderr.write(`${added.alarm}\n\n${added.notes.join('\n')}`);
    process.exitCode = 1;
    return false;
  }

  /** Those anchored too: of one that is gone from the database nothing else would tell. */
  private async organizations(): Promise<readonly string[]> {
    if (this.given) return this.given;
    const rows = await this.session.runtime.source.query<{ organization_id: string }[]>(
      'SELECT organization_id FROM signed_notes',
    );
    const sealed = rows.map(({ organization_id }) => nameOf(organization_id));
    return [...new Set([...sealed, ...(await this.store.organizations())])].sort();
  }

  private async tolerantly<Result>(what: string, work: () => Promise<Result>): Promise<Result | undefined> {
    try {
      const result = await work();
      this.told.delete(what);
      return result;
    } catch (error) {
      const reason = describeError(error);
      if (this.told.get(what) !== reason) process.stderr.write(`${what}: ${reason}\n`);
      this.told.set(what, reason);
      return undefined;
    }
  }
}
