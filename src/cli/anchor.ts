import { type Command, InvalidArgumentError } from 'commander';
import { setTimeout as sleep } from 'node:timers/promises';
import { describeError } from '#libs/database';
import { logIdOf, logNameOf } from '#libs/sealing';
import {
  type Anchored,
  Anchors,
  type AnchorStore,
  bucketLocationOf,
  type BucketLocation,
  NotWriteOnce,
  openAnchorStore,
} from '../audit/index.js';
import { secondsOf } from './outside.js';
import { interruptible, path, type Session, withSession } from './session.js';

type Options = { to: string | BucketLocation; every?: number; organization?: string[] };

export function anchorCommand(history: Command, program: Command): void {
  history
    .command('anchor')
    .description('copy each new checkpoint to an external directory or bucket, without overwriting any')
    .requiredOption(
      '--to <place>',
      'a directory or s3://bucket/prefix; files are <place>/<organizationId>/<size>.checkpoint',
      placeOf,
    )
    .option('--every <seconds>', 'keep running, and check this often (default: check once)', secondsOf)
    .option(
      '--organization <id...>',
      'only these organizations, or all for the log of all organizations (default: all of them)',
    )
    .addHelpText(
      'after',
      `
Prints { "anchored" }, the number of new checkpoints, after each check that found any. Asks the witnesses in WITNESS_URLS to cosign
new checkpoints first. If the current history contradicts an anchor, is shorter (after a restore, for example) or was deleted, exits
with status 1. It then prints the notes on standard error and keeps the anchors.

Use a directory that the server cannot change, such as a write-once disk of another machine. For a bucket, set the usual variables
(AWS_REGION, AWS_ACCESS_KEY_ID, …). For a store other than Amazon's, also set AWS_ENDPOINT_URL_S3. The required rights are listed in
docs/guides/anchors-and-witnesses.md.`,
    )
    .action((options: Options) => withSession(program, (session) => anchor(session, options)));
}

function placeOf(text: string): string | BucketLocation {
  if (!/^[a-z0-9]+:\/\//i.test(text)) return path(text);
  const location = bucketLocationOf(text);
  if (!location) throw new InvalidArgumentError('Enter a directory or s3://bucket/prefix.');
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
    if (every === undefined && (anchoring.hasFailures || signal.aborted)) process.exitCode = 1;
    if (every === undefined || process.exitCode === 1) return;
    await sleep(every * 1_000, undefined, { signal }).catch(() => undefined);
  } while (!signal.aborted);
}

/** Anchors all organizations, even if one fails. */
class Anchoring {
  private readonly anchors: Anchors;
  /** The last reported failure of each organization, and of all. A failure is reported again only if its reason changes. */
  private readonly reported = new Map<string, string>();

  constructor(
    private readonly session: Session,
    private readonly store: AnchorStore,
    private readonly given: readonly string[] | undefined,
    private readonly signal: AbortSignal,
  ) {
    this.anchors = new Anchors(store);
  }

  get hasFailures(): boolean {
    return this.reported.size > 0;
  }

  /** @returns the number of new anchors. Sets the exit status if a checkpoint contradicts an anchor. */
  async addAll(): Promise<number> {
    let anchored = 0;
    const organizations = await this.tolerantly('Nothing could be anchored', () => this.organizations());
    for (const [organizationId, isSealed] of organizations ?? []) {
      if (this.signal.aborted) break;
      const added = await this.tolerantly(`Organization ${organizationId} could not be anchored`, () =>
        this.add(organizationId, isSealed),
      );
      if (added) anchored += 1;
    }
    return anchored;
  }

  private async add(organizationId: string, isSealed: boolean): Promise<boolean> {
    const lost = isSealed ? undefined : await this.anchors.lost(organizationId);
    const added = lost ?? (await this.addLast(organizationId));
    if (!('alarm' in added)) return added.isNew;
    process.stderr.write(`${added.alarm}\n\n${added.notes.join('\n')}`);
    process.exitCode = 1;
    return false;
  }

  private async addLast(organizationId: string): Promise<Anchored> {
    const { checkpoints, cosigning } = this.session.runtime;
    const checkpoint = await checkpoints.last(logIdOf(organizationId));
    const proveFrom = (size: number) => checkpoints.consistency(checkpoint, size);
    const cosign = async () => {
      // Ignores witnesses that do not cosign. Servers report them and retry.
      await cosigning.ask(checkpoint);
      return (await cosigning.cosigned(checkpoint)).note;
    };
    return this.anchors.add({ ...checkpoint, organizationId, proveFrom, cosign });
  }

  /** Includes organizations that only have anchors. Nothing else would report that they were deleted from the database. */
  private async organizations(): Promise<[organizationId: string, isSealed: boolean][]> {
    const rows = await this.session.runtime.source.query<{ organization_id: string }[]>(
      'SELECT organization_id FROM signed_notes',
    );
    const sealed = new Set(rows.map(({ organization_id }) => logNameOf(organization_id)));
    const all = this.given ?? [...new Set([...sealed, ...(await this.store.organizations())])].sort();
    return all.map((organizationId) => [organizationId, sealed.has(organizationId)]);
  }

  private async tolerantly<Result>(what: string, work: () => Promise<Result>): Promise<Result | undefined> {
    try {
      const result = await work();
      this.reported.delete(what);
      return result;
    } catch (error) {
      if (error instanceof NotWriteOnce) throw error;
      if (this.signal.aborted) return undefined;
      const reason = describeError(error);
      if (this.reported.get(what) !== reason) process.stderr.write(`${what}: ${reason}\n`);
      this.reported.set(what, reason);
      return undefined;
    }
  }
}
