import { type LoggerService } from '@nestjs/common';
import { type DataSource } from 'typeorm';
import { newId } from '#libs/random';
import { describeError, fewAtOnce, type IncidentLog } from '#libs/database';
import { type Checkpoints, logNameOf, NotSealed, type SignedTree, type Signers } from '#libs/sealing';
import { Worker } from '#libs/work';
import { CosignedNotes, isSameText, type WitnessAlarm } from './cosigned-notes.js';
import { type Outcome, type WitnessAddress, WitnessClient } from './witness-client.js';

const POLL_MS = 3_000;
/**
 * The search for new checkpoints reads a row per organization, so the pause is this many times its duration.
 */
const REST = 50;
/** The leader renews its lease this often. The lease lasts longer than asking about one checkpoint takes. */
const RENEW_MS = 15_000;
const LEASE_SECONDS = 60;
/** Maximum organizations per round. */
const MOST_DUE = 1_000;
/** The pause after a witness fails. It doubles with each further failure. */
const SHORTEST_PAUSE_MS = 10_000;
const LONGEST_PAUSE_MS = 600_000;

type Asked = { client: WitnessClient; failures: number; pausedUntil: number; refuses: boolean };

type Verdict = Exclude<Outcome, { is: 'ahead' }>;

/**
 * Asks witnesses to cosign checkpoints, so that no one can be shown a different history than the witnesses saw. One
 * instance at a time does this in the background, and no request waits for it. The cosignatures are stored next
 * to the notes.
 */
export class Cosigning {
  private readonly worker: Worker;
  private readonly witnesses: readonly Asked[];
  private readonly notes: CosignedNotes;
  private readonly holder = newId();
  private renewedAt = -Infinity;
  /**
   * As last seen by this instance; undefined before that, or if no witness is configured. `contradicted` counts
   * organizations whose history a witness contradicts. `failing` counts failing witnesses, and only on the
   * instance that queries them.
   */
  lastSeen: { contradicted: number; failing: number } | undefined;

  /** @param everySeconds the shortest interval between two requests about the same organization. */
  constructor(
    private readonly source: DataSource,
    private readonly checkpoints: Checkpoints,
    private readonly signers: Signers,
    witnesses: readonly WitnessAddress[],
    private readonly everySeconds: number,
    private readonly logger: Pick<LoggerService, 'log' | 'warn' | 'error'>,
    incidents: IncidentLog,
  ) {
    this.witnesses = witnesses.map((witness) => ({
      client: new WitnessClient(witness),
      ...{ failures: 0, pausedUntil: -Infinity, refuses: false },
    }));
    this.notes = new CosignedNotes(
      source,
      this.witnesses.map(({ client }) => client.name),
    );
    this.worker = new Worker((error) => {
      logger.warn({ message: 'requesting cosignatures failed', reason: describeError(error) });
    }, incidents);
  }

  start(): void {
    if (this.witnesses.length === 0) return;
    const shortestMs = Math.min(POLL_MS, 1_000 * this.everySeconds);
    let restMs: number;
    const turn = async () => {
      restMs = shortestMs;
      if (await this.holdsLease()) restMs = Math.max(restMs, await this.round());
      const { organizations } = await this.notes.alarms();
      const failing = this.witnesses.filter(({ failures }) => failures > 0).length;
      this.lastSeen = { contradicted: organizations, failing };
    };
    this.worker.start(turn, () => this.worker.pause(restMs));
  }

  async stop(): Promise<void> {
    await this.worker.stop();
    if (this.witnesses.length > 0) await this.source.query(LEAVE, [this.holder]).catch(() => undefined);
  }

  /**
   * Returns the checkpoint's note with its cosignatures. `witnessed` is the note, this or an earlier one, that most
   * witnesses have cosigned so far, with their cosignatures; null if none has.
   */
  async cosigned({ organizationId, note }: SignedTree): Promise<{ note: string; witnessed: string | null }> {
    if (this.witnesses.length === 0) return { note, witnessed: null };
    const notes = await this.notes.of(organizationId);
    const own = notes.find((one) => isSameText(one.note, note));
    const best = this.notes.best(notes);
    const cosigned = note + (own?.cosignatures ?? '');
    if (!best) return { note: cosigned, witnessed: null };
    return { note: cosigned, witnessed: best === own ? cosigned : best.note + best.cosignatures };
  }

  /**
   * Asks all witnesses that have not cosigned the checkpoint yet.
   *
   * @returns those that still do not, each with a reason that completes a sentence.
   */
  async ask(signed: SignedTree): Promise<{ witness: string; reason: string; contradicts: boolean }[]> {
    const found: { witness: string; reason: string; contradicts: boolean }[] = [];
    await this.askWitnesses(signed, this.answering(), ({ client }, verdict) => {
      if (verdict.is === 'cosigned') return;
      found.push({
        ...{ witness: client.name, reason: verdict.reason, contradicts: verdict.is === 'contradicted' },
      });
    });
    return found;
  }

  /** The first hundred contradictions. */
  async alarms(): Promise<WitnessAlarm[]> {
    return this.witnesses.length === 0 ? [] : (await this.notes.alarms()).alarms;
  }

  /** @returns how long to pause the search for new checkpoints. */
  private async round(): Promise<number> {
    const answering = this.answering().map(({ client }) => client.name);
    if (answering.length === 0) return 0;
    const begun = performance.now();
    const due = await this.notes.due(answering, this.everySeconds, MOST_DUE);
    const restMs = REST * (performance.now() - begun);
    await fewAtOnce(due, async (organizationId) => {
      if (!this.worker.signal.aborted && (await this.holdsLease())) await this.askAbout(organizationId);
    });
    return restMs;
  }

  private async askAbout(organizationId: string): Promise<void> {
    const signed = await this.lastSigned(organizationId);
    if (!signed) return;
    await this.askWitnesses(signed, this.answering(), async (asked, verdict) => {
      const witness = asked.client.name;
      if (verdict.is === 'contradicted') await this.alarm(organizationId, witness, verdict.reason);
      if (verdict.is === 'refused' && !asked.refuses) {
        asked.refuses = true;
        this.logger.warn({
          message: 'a witness rejects the checkpoint of an organization, and may reject others',
          ...{ witness, organizationId: logNameOf(organizationId), reason: verdict.reason },
          advice: 'check that it has the newest verifier key of this server (history key)',
        });
      }
    });
    await this.notes.tidy(organizationId);
  }

  /** Stores the cosignatures. @param onVerdict called with each witness's verdict as it arrives. */
  private async askWitnesses(
    signed: SignedTree,
    witnesses: readonly Asked[],
    onVerdict: (asked: Asked, verdict: Verdict) => void | Promise<void>,
  ): Promise<void> {
    const { organizationId, note } = signed;
    const notes = await this.notes.of(organizationId);
    const [last] = notes;
    const contradicting = await this.notes.contradicting(organizationId);
    // After a rollback to an older note, all witnesses are asked again, whatever is stored.
    const hasCosigned = last && isSameText(last.note, note) ? last.keys : [];
    const lacking = witnesses.filter(
      ({ client: { name } }) => !hasCosigned.includes(name) || contradicting.includes(name),
    );
    if (lacking.length === 0) return;
    await this.notes.begin(signed);
    const known = ({ client: { name } }: Asked) =>
      Math.max(
        0,
        ...notes
          .filter(({ size, keys }) => size <= signed.size && keys.includes(name))
          .map(({ size }) => size),
      );
    await Promise.all(
      lacking.map(async (one) => {
        const verdict = await this.askOne(one, signed, known(one));
        if (verdict) await onVerdict(one, verdict);
      }),
    );
  }

  /**
   * @returns undefined if the tree cannot prove consistency, which sealing reports, or if the witness has
   *   cosigned a newer checkpoint.
   */
  private async askOne(asked: Asked, signed: SignedTree, known: number): Promise<Verdict | undefined> {
    const { client, failures } = asked;
    const { signal } = this.worker;
    const prove = (size: number) => this.checkpoints.consistency(signed, size);
    const outcome = await client.ask(signed, known, prove, signal).catch((error: unknown) => {
      if (error instanceof NotSealed) return undefined;
      throw error;
    });
    if (outcome?.is === 'failed') {
      // Several failures at the same time count as one.
      if (asked.failures === failures) this.pause(asked, outcome.reason);
    } else if (outcome) {
      if (asked.failures > 0)
        this.logger.log({ message: 'the witness responds again', witness: client.name });
      asked.failures = 0;
    }
    if (outcome?.is === 'cosigned') {
      asked.refuses = false;
      const { organizationId } = signed;
      if (await this.notes.add(signed, client.name, outcome.line)) {
        this.logger.log({
          message: 'the witness cosigns the history again',
          ...{ organizationId: logNameOf(organizationId), witness: client.name },
        });
      }
    }
    return outcome?.is === 'ahead' ? this.rolledBack(signed, outcome.size) : outcome;
  }

  /**
   * The command line, or an instance whose lease expired, may have submitted a newer checkpoint in the
   * meantime.
   */
  private async rolledBack({ organizationId }: SignedTree, size: number): Promise<Verdict | undefined> {
    const now = await this.lastSigned(organizationId);
    if (!now || now.size >= size) return undefined;
    return {
      is: 'contradicted',
      reason: `it cosigned a checkpoint of ${size} events, but the last one here has ${now.size}: signed events were lost`,
    };
  }

  private pause(asked: Asked, reason: string): void {
    const shortest = Math.min(SHORTEST_PAUSE_MS, 1_000 * this.everySeconds);
    asked.pausedUntil = performance.now() + Math.min(shortest * 2 ** asked.failures, LONGEST_PAUSE_MS);
    asked.failures += 1;
    if (asked.failures > 1) return;
    this.logger.warn({
      message: 'a witness returned no valid response: it will be retried with increasing delay',
      ...{ witness: asked.client.name, reason },
      advice: 'nothing waits for it, and other witnesses are not affected: inform its operator',
    });
  }

  private async alarm(organizationId: string, witness: string, reason: string): Promise<void> {
    if (!(await this.notes.contradict(organizationId, witness, reason))) return;
    this.logger.error({
      message: 'a witness contradicts the history: it cosigned a different one',
      ...{ organizationId: logNameOf(organizationId), witness, reason },
      advice:
        'a backup was restored, someone rewrote the history, or a copy of the database is in use elsewhere: change ' +
        'nothing, copy the database, and see docs/guides/runbooks/witness-contradicts.md',
    });
  }

  private answering(): Asked[] {
    const now = performance.now();
    return this.witnesses.filter(({ pausedUntil }) => pausedUntil <= now);
  }

  private async lastSigned(organizationId: string): Promise<SignedTree | undefined> {
    const [row] = await this.source.query<{ note: string | null }[]>(
      'SELECT note FROM signed_notes WHERE organization_id = $1',
      [organizationId],
    );
    const signed = row?.note ? this.signers.open(row.note) : undefined;
    return signed?.organizationId === organizationId ? signed : undefined;
  }

  /** Whether this instance holds the lease for asking witnesses. */
  private async holdsLease(): Promise<boolean> {
    const now = performance.now();
    if (now - this.renewedAt < RENEW_MS) return true;
    const rows = await this.source.query<unknown[]>(LEAD, [this.holder, LEASE_SECONDS]);
    const leads = rows.length > 0;
    this.renewedAt = leads ? now : -Infinity;
    return leads;
  }
}

const LEAD = `
  INSERT INTO witnessing AS w (holder, until) VALUES ($1, clock_timestamp() + make_interval(secs => $2))
  ON CONFLICT (single) DO UPDATE SET holder = excluded.holder, until = excluded.until
  WHERE w.holder = excluded.holder OR w.until < clock_timestamp()
  RETURNING holder`;

const LEAVE = 'UPDATE witnessing SET until = clock_timestamp() WHERE holder = $1';
