import { type Sql } from '#libs/database';
import {
  type Against,
  againstOf,
  ALL,
  areSame,
  type Checkpoint,
  type Claim,
  claimHash,
  fromBase64,
  HASH,
  isId,
  leafHash,
  Tree,
  wholeNumber,
} from '#libs/verify';
import { EventsTable } from './events-table.js';
import { checkSeals } from './seal-tables.js';

/**
 * The log with a leaf for each checkpoint of each organization: docs/spec/history-format.md, "The log of all
 * organizations".
 */

/** The result of verifying this log and every organization in it. */
export type AllVerdict = {
  ok: boolean;
  /** Leaves compared with the checkpoint. */
  leaves: number;
  /** Organizations compared with the log. */
  organizations: number;
  /** The problem with the log itself; null if there is none. */
  reason: string | null;
  /** Organizations that differ from the log, the first `MOST_WRONG`. */
  wrong: { organizationId: string; reason: string }[];
  wrongCount: number;
  checkpoint: Against | null;
};

export type AllWork = {
  /** Events are verified elsewhere: it is enough that the seals reach as far as the log. */
  onlySeals: boolean;
  /** The organizations stored next to the checkpoint. They are used if the log itself differs. */
  kept: string | undefined;
  /** @param events read since the last call. */
  onEvents: (events: number) => void;
};

const MOST_WRONG = 100;
/** Leaves per query. */
const PAGE = 5_000;

/** Compares the stored log with its checkpoint, and each organization with the log. */
export async function compareAll(sql: Sql, checkpoint: Checkpoint, work: AllWork): Promise<AllVerdict> {
  const { leaves, mistake, isProved } = await compareLog(sql, checkpoint);
  const reasons = mistake === undefined ? [] : [mistake];
  let claims: Claims = isProved ? storedClaims(sql, checkpoint.size) : keptClaims([]);
  if (!isProved && work.kept !== undefined) {
    const kept = parseKept(work.kept);
    if (kept) claims = keptClaims(kept);
    else reasons.push('The .organizations file of the checkpoint cannot be read.');
  }
  const verdict: AllVerdict = {
    ...{ ok: mistake === undefined, leaves, organizations: 0, reason: reasons.join(' ') || null },
    ...{ wrong: [], wrongCount: 0, checkpoint: againstOf(checkpoint) },
  };
  for await (const organizationId of claims.organizations()) {
    verdict.organizations += 1;
    const reason = await compareOrganization(sql, organizationId, claims, work);
    if (reason === undefined) continue;
    verdict.ok = false;
    verdict.wrongCount += 1;
    if (verdict.wrong.length < MOST_WRONG) verdict.wrong.push({ organizationId, reason });
  }
  return verdict;
}

/** `isProved`: the leaves match the checkpoint, so their content was signed. */
async function compareLog(
  sql: Sql,
  { size, root, ...checkpoint }: Checkpoint,
): Promise<{ leaves: number; mistake?: string; isProved: boolean }> {
  const stored = await checkSeals(
    sql,
    { ...checkpoint, size, root, organizationId: ALL.id },
    () => undefined,
  );
  const tree = new Tree();
  for (let page = await pageOf(sql, 0, size); page.length > 0; page = await pageOf(sql, tree.size, size)) {
    const sealed = await stored.leaves?.(tree.size, page.length);
    for (const [n, { position, ...claim }] of page.entries()) {
      const number = tree.size + 1;
      if (position !== number) return { leaves: tree.size, isProved: false, mistake: missing(number, size) };
      const hash = claimHash(claim);
      if (sealed && !(sealed[n] && areSame(sealed[n].hash, hash))) {
        const mistake = `Leaf ${number} of the log differs from what was signed. It states that organization ${claim.organizationId} had ${claim.size} events.`;
        return { leaves: tree.size, isProved: false, mistake };
      }
      tree.append(hash);
    }
  }
  const leaves = tree.size;
  if (leaves < size) return { leaves, isProved: false, mistake: missing(leaves + 1, size) };
  if (!areSame(tree.root(), root)) {
    return {
      leaves,
      isProved: false,
      mistake: 'The log differs from what was signed: leaves were changed, removed or inserted.',
    };
  }
  if (stored.mistake === null) return { leaves, isProved: true };
  return { leaves, isProved: true, mistake: `The log’s own tables are wrong: ${stored.mistake}.` };
}

function missing(number: number, size: number): string {
  return `Leaf ${number} of ${size} in the log is missing.`;
}

type Row = { position: string; organization_id: string; size: string; root: Buffer };

function claimOf({ organization_id: organizationId, size, root }: Omit<Row, 'position'>): Claim {
  return { organizationId, size: Number(size), root };
}

async function pageOf(sql: Sql, after: number, upTo: number): Promise<(Claim & { position: number })[]> {
  const rows = await sql.query<Row[]>(
    `SELECT position, organization_id, size, root FROM checkpoint_leaves
     WHERE position > $1 AND position <= $2 ORDER BY position LIMIT ${PAGE}`,
    [after, upTo],
  );
  return rows.map((row) => ({ ...claimOf(row), position: Number(row.position) }));
}

/** The signed states of each organization. */
type Claims = {
  organizations: () => AsyncIterable<string> | Iterable<string>;
  /** The claims about trees larger than `after`, ascending, one page. */
  of: (organizationId: string, after: number) => Promise<Claim[]>;
};

function storedClaims(sql: Sql, upTo: number): Claims {
  return {
    async *organizations() {
      const next = (after: string) =>
        sql.query<{ organization_id: string }[]>(
          `SELECT organization_id FROM checkpoint_leaves WHERE organization_id > $1 AND position <= $2
           ORDER BY organization_id LIMIT 1`,
          [after, upTo],
        );
      for (let [row] = await next(ALL.id); row; [row] = await next(row.organization_id)) {
        yield row.organization_id;
      }
    },
    async of(organizationId, after) {
      const rows = await sql.query<Omit<Row, 'position'>[]>(
        `SELECT organization_id, size, root FROM checkpoint_leaves
         WHERE organization_id = $1 AND size > $2 AND position <= $3 ORDER BY size LIMIT ${PAGE}`,
        [organizationId, after, upTo],
      );
      return rows.map(claimOf);
    },
  };
}

function keptClaims(kept: readonly Claim[]): Claims {
  const byOrganization = new Map(kept.map((claim) => [claim.organizationId, claim]));
  return {
    organizations: () => byOrganization.keys(),
    of(organizationId, after) {
      const claim = byOrganization.get(organizationId)!;
      return Promise.resolve(claim.size > after ? [claim] : []);
    },
  };
}

/** Parses lines `<organization> <events> <root>`. @returns undefined for any other text. */
function parseKept(text: string): Claim[] | undefined {
  const claims = text
    .split('\n')
    .slice(0, -1)
    .map((line) => {
      const [organizationId, events, encoded = '', ...others] = line.split(' ');
      const [size, root] = [wholeNumber(events), fromBase64(encoded)];
      const isClaim = isId(organizationId) && size !== undefined && root?.length === HASH;
      return isClaim && others.length === 0 ? { organizationId, size, root } : undefined;
    });
  return claims.every((claim) => claim !== undefined) ? claims : undefined;
}

/** @returns how the organization differs from its claims; undefined if it does not. */
async function compareOrganization(
  sql: Sql,
  organizationId: string,
  claims: Claims,
  { onlySeals, onEvents }: AllWork,
): Promise<string | undefined> {
  if (onlySeals) return compareSeals(sql, organizationId, await newestOf(claims, organizationId));
  const tree = new Tree();
  let due = await claims.of(organizationId, 0);
  let next = 0;
  for await (const batch of (await EventsTable.of(sql, organizationId)).batches()) {
    onEvents(batch.events.length);
    for (const { position, digest } of batch.events) {
      tree.append(leafHash(position, digest));
      if (tree.size !== due[next]!.size) continue;
      if (!areSame(tree.root(), due[next]!.root)) {
        return `Its first ${tree.size} events do not match its checkpoint in the log: events were changed, removed or inserted.`;
      }
      next += 1;
      if (next < due.length) continue;
      [due, next] = [await claims.of(organizationId, tree.size), 0];
      if (due.length === 0) return compareSeals(sql, organizationId, tree.size);
    }
    if (batch.mistake) return batch.mistake.reason;
  }
  const size = await newestOf(claims, organizationId);
  return tree.size === 0
    ? gone(size)
    : `It has ${tree.size} events, but the log has a checkpoint of ${size} events.`;
}

async function newestOf(claims: Claims, organizationId: string): Promise<number> {
  let size = 0;
  for (let page = await claims.of(organizationId, 0); page.length > 0;) {
    ({ size } = page.at(-1)!);
    page = await claims.of(organizationId, size);
  }
  return size;
}

function gone(size: number): string {
  return `It is missing, but the log has a checkpoint of its ${size} events.`;
}

/** The server publishes a history only as far as its seals reach. */
async function compareSeals(sql: Sql, organizationId: string, size: number): Promise<string | undefined> {
  const [row] = await sql.query<{ size: string | null; exists: boolean }[]>(
    `SELECT max(size) AS size, EXISTS (SELECT FROM events WHERE organization_id = $1) AS exists
     FROM seals WHERE organization_id = $1`,
    [organizationId],
  );
  const last = Number(row!.size ?? 0);
  if (last === 0 && row!.exists)
    return `It has no seals, but the log has a checkpoint of ${size} events. Its rows in the table seals were deleted.`;
  if (last === 0) return gone(size);
  return last >= size
    ? undefined
    : `Its seals end at ${last} events, but the log has a checkpoint of ${size} events. It was rolled back.`;
}
