import { type LoggerService } from '@nestjs/common';
import { type DataSource } from 'typeorm';
import { newId } from '#libs/random';
import { describeError, fewAtOnce, type IncidentLog } from '#libs/database';
import { type Checkpoints, logNameOf, NotSealed, type SignedTree, type Signers } from '#libs/sealing';
import { Worker } from '#libs/work';
import { CosignedNotes, isSameText, type WitnessAlarm } from './cosigned-notes.js';
import { type Outcome, type WitnessAddress, WitnessClient } from './witness-client.js';

const LOOK_EVERY_MS = 3_000;
/** Looking for what is new reads a row of each organization: it rests so many times as long as that took. */
const REST = 50;
/** Who asks says so this often, and is taken for gone after so long, which is longer than asking about one checkpoint takes. */
const BEAT_MS = 15_000;
const GONE_SECONDS = 60;
/** Organizations in one go. */
const MOST_DUE = 1_000;
/** A witness that fails is left alone for so long, twice as long each time. */
const SHORTEST_PAUSE_MS = 10_000;
const LONGEST_PAUSE_MS = 600_000;

/** A witness, and how it has been answering. */
type Asked = { client: WitnessClient; failures: number; pausedUntil: number; refuses: boolean };

type Verdict = Exclude<Outcome, { is: 'ahead' }>;

/**
 * Asks witnesses to cosign what was signed, so that nobody can be shown another history than they were. Nobody waits for
 * them: they are asked in the background, by one instance at a time, and what they have cosigned is kept beside the notes.
 */
export class Cosigning {
  private readonly worker: Worker;
  private readonly witnesses: readonly Asked[];
  private readonly notes: CosignedNotes;
  private readonly holder = newId();
  private saidSo = -Infinity;
  /**
   * As last seen by this instance; undefined before that, or if no witness is configured. `contradicted` counts organizations
   * whose history a witness contradicts, `failing` the witnesses that fail: only the instance that queries them counts those.
   */
  lastSeen: { contradicted: number; failing: number } | undefined;

  /** @param everySeconds at most once in so many seconds witnesses are asked about an organization with something new. */
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
    const shortestMs = Math.min(LOOK_EVERY_MS, 1_000 * this.everySeconds);
    let restMs: number;
    const turn = async () => {
      restMs = shortestMs;
      if (await this.leads()) restMs = Math.max(restMs, await this.round());
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
   * The note of a checkpoint with the cosignatures that it has, and, with theirs, the one that most witnesses have cosigned
   * so far: the same where they have cosigned this one, null where they have cosigned none.
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

  /** Asks those that have not cosigned a checkpoint, now. @returns those that do not cosign it; why is half a sentence. */
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

  /** What witnesses contradict, the first hundred. */
  async alarms(): Promise<WitnessAlarm[]> {
    return this.witnesses.length === 0 ? [] : (await this.notes.alarms()).alarms;
  }

  /** @returns for how long to rest from looking. */
  private async round(): Promise<number> {
    const answering = this.answering().map(({ client }) => client.name);
    if (answering.length === 0) return 0;
    const begun = performance.now();
    const due = await this.notes.due(answering, this.everySeconds, MOST_DUE);
    const restMs = REST * (performance.now() - begun);
    await fewAtOnce(due, async (organizationId) => {
      if (!this.worker.signal.aborted && (await this.leads())) await this.askAbout(organizationId);
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

  /** Keeps what they cosign. @param hear is told what each says, as soon as it does. */
  private async askWitnesses(
    signed: SignedTree,
    witnesses: readonly Asked[],
    hear: (asked: Asked, verdict: Verdict) => void | Promise<void>,
  ): Promise<void> {
    const { organizationId, note } = signed;
    const notes = await this.notes.of(organizationId);
    const [last] = notes;
    const contradicting = await this.notes.contradicting(organizationId);
    // Who goes back to an older note is asked about it again, whatever is known of it.
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
        if (verdict) await hear(one, verdict);
      }),
    );
  }

  /** @returns undefined where nothing can be proved, which sealing tells, and where it has cosigned a newer one already. */
  private async askOne(asked: Asked, signed: SignedTree, known: number): Promise<Verdict | undefined> {
    const { client, failures } = asked;
    const { signal } = this.worker;
    const prove = (size: number) => this.checkpoints.consistency(signed, size);
    const outcome = await client.ask(signed, known, prove, signal).catch((error: unknown) => {
      if (error instanceof NotSealed) return undefined;
      throw error;
    });
    if (outcome?.is === 'failed') {
      // Several that fail at a time are one failure.
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

  /** Somebody at the command line, or an instance that was taken for gone, may have asked about a newer one meanwhile. */
  private async rolledBack({ organizationId }: SignedTree, size: number): Promise<Verdict | undefined> {
    const now = await this.lastSigned(organizationId);
    if (!now || now.size >= size) return undefined;
    return {
      is: 'contradicted',
      reason: `it has cosigned a checkpoint of ${size} events, and here the last one has ${now.size}: what was signed is gone`,
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
        'a backup was restored, somebody rewrote the history, or a copy of the database is written on elsewhere: change ' +
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

  /** Whether this instance is the one that asks. */
  private async leads(): Promise<boolean> {
    const now = performance.now();
    if (now - this.saidSo < BEAT_MS) return true;
    const rows = await this.source.query<unknown[]>(LEAD, [this.holder, GONE_SECONDS]);
    const leads = rows.length > 0;
    this.saidSo = leads ? now : -Infinity;
    return leads;
  }
}

const LEAD = `
  INSERT INTO witnessing AS w (holder, until) VALUES ($1, clock_timestamp() + make_interval(secs => $2))
  ON CONFLICT (single) DO UPDATE SET holder = excluded.holder, until = excluded.until
  WHERE w.holder = excluded.holder OR w.until < clock_timestamp()
  RETURNING holder`;

const LEAVE = 'UPDATE witnessing SET until = clock_timestamp() WHERE holder = $1';
