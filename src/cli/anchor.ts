import { type Command, InvalidArgumentError } from 'commander';
import { setTimeout as sleep } from 'node:timers/promises';
import { describeError } from '#libs/database';
import { logIdOf, logNameOf } from '#libs/sealing';
import {
  Anchors,
  type AnchorStore,
  bucketLocationOf,
  type BucketLocation,
  NotWriteOnce,
  openAnchorStore,
} from '../anchors/index.js';
import { secondsOf } from './outside.js';
import { interruptible, path, type Session, withSession } from './session.js';

type Options = { to: string | BucketLocation; every?: number; organization?: string[] };

/** Adds `anchor` to the commands of `history`. */
export function anchorCommand(history: Command, program: Command): void {
  history
    .command('anchor')
    .description('keep each new checkpoint in a directory or bucket outside, never over one that is there')
    .requiredOption(
      '--to <place>',
      'a directory or s3://bucket/prefix: <place>/<organizationId>/<size>.checkpoint',
      placeOf,
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
is anchored stays. The witnesses in WITNESS_URLS are asked to cosign what is new before it is kept. Put the directory where the server
cannot change what is there: a disk of another machine, written once. A bucket is found and opened by the environment variables of
Amazon's tools (AWS_REGION, AWS_ACCESS_KEY_ID, …; AWS_ENDPOINT_URL_S3 of a
store that is not Amazon's); docs/guides/anchors-and-witnesses.md has the rights that it takes.`,
    )
    .action((options: Options) => withSession(program, (session) => anchor(session, options)));
}

function placeOf(text: string): string | BucketLocation {
  if (!/^[a-z0-9]+:\/\//i.test(text)) return path(text);
  const location = bucketLocationOf(text);
  if (!location) throw new InvalidArgumentError('It is a directory, or s3://bucket/prefix.');
  return location;
}

async function anchor(session: Session, { to, every, organization }: Options): Promise<void> {
  for (const id of organization ?? []) await session.requireLog(id);
  const signal = interruptible();
  const store = await openAnchorStore(to, signal);
  const anchoring = new Anchoring(session, store, organization, signal);
  do {
    const anchored = await anchoring.addAll();
    if (anchored > 0 || every === undefined) process.stdout.write(`${JSON.stringify({ anchored })}\n`);
    if (every === undefined && (anchoring.isInTrouble || signal.aborted)) process.exitCode = 1;
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
    private readonly store: AnchorStore,
    private readonly given: readonly string[] | undefined,
    private readonly signal: AbortSignal,
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
      if (this.signal.aborted) break;
      const added = await this.tolerantly(`Organization ${organizationId} could not be anchored`, () =>
        this.add(organizationId),
      );
      if (added) anchored += 1;
    }
    return anchored;
  }

  private async add(organizationId: string): Promise<boolean> {
    const { checkpoints, cosigning } = this.session.runtime;
    const checkpoint = await checkpoints.last(logIdOf(organizationId));
    const proveFrom = (size: number) => checkpoints.consistency(checkpoint, size);
    const cosign = async () => {
      // Who does not cosign is told by the servers, which go on asking.
      await cosigning.ask(checkpoint);
      return (await cosigning.cosigned(checkpoint)).note;
    };
    const added = await this.anchors.add({ ...checkpoint, organizationId, proveFrom, cosign });
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
    const sealed = rows.map(({ organization_id }) => logNameOf(organization_id));
    return [...new Set([...sealed, ...(await this.store.organizations())])].sort();
  }

  private async tolerantly<Result>(what: string, work: () => Promise<Result>): Promise<Result | undefined> {
    try {
      const result = await work();
      this.told.delete(what);
      return result;
    } catch (error) {
      if (error instanceof NotWriteOnce) throw error;
      if (this.signal.aborted) return undefined;
      const reason = describeError(error);
      if (this.told.get(what) !== reason) process.stderr.write(`${what}: ${reason}\n`);
      this.told.set(what, reason);
      return undefined;
    }
  }
}
