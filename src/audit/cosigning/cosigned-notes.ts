import { type Sql } from '#libs/database';
import { logNameOf, type SignedTree } from '#libs/sealing';

/** A checkpoint that was submitted to witnesses, and their cosignatures. */
export type CosignedNote = {
  size: number;
  note: string;
  /** Signature lines. */
  cosignatures: string;
  /** Names and ids of the keys that created the cosignatures. */
  keys: readonly string[];
};

export type WitnessAlarm = { organizationId: string; witness: string; since: Date; reason: string };

/** After this many repeated requests about an organization, the pause stops growing. */
const MOST_DOUBLINGS = 20;
const LONGEST_PAUSE_SECONDS = 3_600;

/**
 * The stored results of cosigning. Per organization: the last submitted checkpoint, the one with the most
 * cosignatures, and the witnesses that contradict its history.
 */
export class CosignedNotes {
  /** @param keys names and ids of the witnesses' keys. Cosignatures by other keys do not count. */
  constructor(
    private readonly sql: Sql,
    private readonly keys: readonly string[],
  ) {}

  /**
   * Organizations whose last checkpoint was not submitted yet, or lacks a cosignature of a responding witness.
   * The longest waiting come first.
   *
   * @param answering names and ids of the keys of the witnesses that may be asked.
   * @param everySeconds pause between two requests about an organization. It grows while the checkpoint stays
   *   the same.
   */
  async due(answering: readonly string[], everySeconds: number, most: number): Promise<string[]> {
    const rows = await this.sql.query<{ organization_id: string }[]>(DUE, [
      answering,
      everySeconds,
      Math.max(everySeconds, LONGEST_PAUSE_SECONDS),
      most,
    ]);
    return rows.map(({ organization_id }) => organization_id);
  }

  /** The most recently submitted first. */
  async of(organizationId: string): Promise<CosignedNote[]> {
    const rows = await this.sql.query<(Omit<CosignedNote, 'size'> & { size: string })[]>(
      `SELECT size, note, cosignatures, keys FROM cosigned_notes
       WHERE organization_id = $1 AND asked_at <= clock_timestamp()
       ORDER BY asked_at DESC, size DESC`,
      [organizationId],
    );
    return rows.map((row) => ({ ...row, size: Number(row.size) }));
  }

  /** Keys of the witnesses that contradict the organization's history. */
  async contradicting(organizationId: string): Promise<string[]> {
    const rows = await this.sql.query<{ key: string }[]>(
      'SELECT key FROM witness_alarms WHERE organization_id = $1',
      [organizationId],
    );
    return rows.map(({ key }) => key);
  }

  /**
   * Records that the checkpoint is being submitted. It replaces a note of the same size with different text.
   */
  async begin({ organizationId, size, note }: SignedTree): Promise<void> {
    await this.sql.query(BEGIN, [organizationId, size, note]);
  }

  /** @returns whether this ended a contradiction by the witness. */
  async add({ organizationId, size, note }: SignedTree, key: string, line: string): Promise<boolean> {
    const mended = await this.sql.query<unknown[]>(ADD, [organizationId, size, note, key, line]);
    return mended.length > 0;
  }

  /** @returns whether the contradiction is new. */
  async contradict(organizationId: string, key: string, reason: string): Promise<boolean> {
    const [row] = await this.sql.query<{ is_new: boolean }[]>(
      `INSERT INTO witness_alarms (organization_id, key, reason, since) VALUES ($1, $2, $3, clock_timestamp())
       ON CONFLICT (organization_id, key) DO UPDATE SET reason = excluded.reason RETURNING xmax = 0 AS is_new`,
      [organizationId, key, reason],
    );
    return row!.is_new;
  }

  /** Deletes all but the last submitted note and the one with the most cosignatures. */
  async tidy(organizationId: string): Promise<void> {
    const notes = await this.of(organizationId);
    const kept = [notes[0], this.best(notes)].flatMap((note) => (note ? [note.size] : []));
    if (notes.every(({ size }) => kept.includes(size))) return;
    await this.sql.query('DELETE FROM cosigned_notes WHERE organization_id = $1 AND size <> ALL ($2)', [
      organizationId,
      kept,
    ]);
  }

  /** The longest of the notes with the most cosignatures; undefined if no note has any. */
  best(notes: readonly CosignedNote[]): CosignedNote | undefined {
    const counted = notes.map((note) => ({
      note,
      count: note.keys.filter((key) => this.keys.includes(key)).length,
    }));
    const [first] = counted.sort((one, other) => other.count - one.count || other.note.size - one.note.size);
    return first && first.count > 0 ? first.note : undefined;
  }

  /** The first hundred alarms, and the number of organizations that have one. */
  async alarms(): Promise<{ alarms: WitnessAlarm[]; organizations: number }> {
    const rows = await this.sql.query<
      { organization_id: string; key: string; since: Date; reason: string; organizations: number }[]
    >(ALARMS, [this.keys]);
    return {
      alarms: rows.map(({ organization_id, key: witness, since, reason }) => ({
        ...{ organizationId: logNameOf(organization_id), witness, since, reason },
      })),
      organizations: rows[0]?.organizations ?? 0,
    };
  }
}

/** Whether two notes have the same text, regardless of their signatures. */
export function isSameText(one: string, other: string): boolean {
  const textOf = (note: string) => note.slice(0, note.lastIndexOf('\n\n'));
  return textOf(one) === textOf(other);
}

// The same as `isSameText`, in SQL.
const SAME_TEXT = (one: string, other: string) =>
  `split_part(${one}, E'\\n\\n', 1) = split_part(${other}, E'\\n\\n', 1)`;

// Someone who alters other tables can alter this one too, and must not be able to silence the witnesses with a time in the future.
const DUE = `
  SELECT n.organization_id FROM signed_notes n
  LEFT JOIN LATERAL (
    SELECT c.asked_at, c.repeats, c.keys, ${SAME_TEXT('c.note', 'n.note')} AS is_same FROM cosigned_notes c
    WHERE c.organization_id = n.organization_id AND c.asked_at <= clock_timestamp()
    ORDER BY c.asked_at DESC, c.size DESC LIMIT 1
  ) asked ON true
  WHERE n.note IS NOT NULL AND (asked.asked_at IS NULL OR CASE
    WHEN NOT asked.is_same THEN asked.asked_at <= clock_timestamp() - make_interval(secs => $2)
    ELSE asked.asked_at <= clock_timestamp() - make_interval(secs => least($2 * 2 ^ least(asked.repeats, ${MOST_DOUBLINGS}), $3))
      AND (NOT asked.keys @> $1::text[] OR EXISTS (
        SELECT FROM witness_alarms a WHERE a.organization_id = n.organization_id AND a.key = ANY ($1)))
  END)
  ORDER BY asked.asked_at NULLS FIRST LIMIT $4`;

const BEGIN = `
  INSERT INTO cosigned_notes AS c (organization_id, size, note, asked_at) VALUES ($1, $2, $3, clock_timestamp())
  ON CONFLICT (organization_id, size) DO UPDATE
  SET note = excluded.note, asked_at = excluded.asked_at, repeats = c.repeats + 1,
    cosignatures = CASE WHEN ${SAME_TEXT('c.note', 'excluded.note')} THEN c.cosignatures ELSE '' END,
    keys = CASE WHEN ${SAME_TEXT('c.note', 'excluded.note')} THEN c.keys ELSE '{}' END`;

const ADD = `
  WITH added AS (
    UPDATE cosigned_notes SET keys = keys || $4::text, cosignatures = cosignatures || $5
    WHERE organization_id = $1 AND size = $2 AND ${SAME_TEXT('note', '$3')} AND NOT $4 = ANY (keys)
  ), mended AS (
    DELETE FROM witness_alarms WHERE organization_id = $1 AND key = $4 RETURNING key
  )
  SELECT key FROM mended`;

const ALARMS = `
  SELECT organization_id, key, since, reason,
    (SELECT count(DISTINCT organization_id)::int FROM witness_alarms WHERE key = ANY ($1)) AS organizations
  FROM witness_alarms WHERE key = ANY ($1) ORDER BY since, organization_id, key LIMIT 100`;
