import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Commands, type Decision, RecordReader } from '#libs/commands';
import { EventStore, type JsonObject } from '#libs/event-store';
import { type Link, type LinkState } from '#libs/links';
import { type Input } from '#libs/rpc';
import { linkedKinds, linksOf } from '../linked-kinds.js';

/** The parts of a decision that move links. */
export type MovedLinks = {
  writes: Decision['writes'][number][];
  claims: NonNullable<Decision['claims']>[number][];
  releases: NonNullable<Decision['releases']>[number][];
};

/** Links begun while a merge was decided are rare. */
const MOST_LATE = 1_000;

/** Moves the lists, tags and signatures of merged contacts to the contact that is kept. */
@Injectable()
export class MergedLinks {
  constructor(
    private readonly source: DataSource,
    private readonly commands: Commands,
    private readonly records: RecordReader,
    private readonly store: EventStore,
  ) {}

  /**
   * Ends invalidated signatures of the contact that is kept, if a duplicate's valid one can take their place. In its own
   * command, because a unique key cannot change hands within one. An ended invalidated signature changes no count.
   */
  async makeRoom(input: Input, survivorId: string, otherIds: readonly string[]): Promise<void> {
    for (const kind of linkedKinds().filter(({ link }) => link.isMovable)) {
      const { link } = kind;
      const rows = await linksOf(this.source, kind, input.organizationId, [survivorId, ...otherIds]);
      const isTaken = new Set(
        rows.flatMap((row) => (row.subject_id !== survivorId && row.is_active ? [row.record_id] : [])),
      );
      const inTheWay = rows.filter(
        (row) => row.subject_id === survivorId && !row.is_active && isTaken.has(row.record_id),
      );
      if (inTheWay.length === 0) continue;
      await this.commands.run(input, async () => {
        const ends = await Promise.all(
          inTheWay.map(({ id, record_id }) => this.end(input, link, id, record_id, survivorId)),
        );
        const decided = ends.filter((one) => one !== undefined);
        return {
          recordId: survivorId,
          writes: decided.map(({ write }) => write),
          releases: decided.map(({ release }) => release),
        };
      });
    }
  }

  /** For the decision to merge. The projections contain every event before it. */
  async move(
    { organizationId }: Input,
    survivorId: string,
    otherIds: readonly string[],
  ): Promise<MovedLinks> {
    const moved: MovedLinks = { writes: [], claims: [], releases: [] };
    for (const kind of linkedKinds()) {
      const { link } = kind;
      const rows = await linksOf(this.source, kind, organizationId, [survivorId, ...otherIds]);
      const linked = new Set(
        rows.flatMap(({ subject_id, record_id }) => (subject_id === survivorId ? [record_id] : [])),
      );
      // Valid signatures come first, so that they are kept rather than invalidated ones.
      for (const { id, record_id, subject_id } of rows.filter((row) => row.subject_id !== survivorId)) {
        const { state, version } = await this.records.load(link.decider, organizationId, id);
        // Another request has ended or moved it since the rows were read.
        if (state.status !== 'standing' || state.subjectId !== subject_id) continue;
        const isFirst = !linked.has(record_id);
        linked.add(record_id);
        if (isFirst && link.isMovable) {
          const personal = await this.personalOf(organizationId, id);
          const ends = { from: subject_id, to: survivorId };
          const { write, claim, release } = link.move(
            id,
            record_id,
            ends,
            version,
            personal,
            () => undefined,
          );
          moved.writes.push(write);
          moved.claims.push(claim);
          moved.releases.push(release);
          continue;
        }
        const { write, release } = link.end(id, record_id, subject_id, version);
        moved.writes.push(write);
        moved.releases.push(release);
        if (!isFirst) continue;
        const begun = link.begin(record_id, survivorId, () => undefined);
        moved.writes.push(begun.write);
        moved.claims.push(begun.claim);
      }
    }
    return moved;
  }

  /**
   * Moves links that began while the merge was being decided. None can begin afterwards, because the duplicate's key is
   * destroyed. Its personal data is lost, such as the comment of a signature. Safe to repeat.
   */
  async moveLate(input: Input, survivorId: string, otherId: string): Promise<void> {
    const { organizationId } = input;
    for (const { link } of linkedKinds()) {
      const [begins] = link.handles as [string];
      const { events } = await this.store.readAbout(organizationId, otherId, MOST_LATE, undefined, [begins]);
      const states = await this.records.loadMany(
        link.decider,
        organizationId,
        events.map(({ streamId }) => streamId),
      );
      for (const [id, { state, version }] of states) {
        if (state.status !== 'standing' || state.subjectId !== otherId) continue;
        await this.commands.run(input, () => this.moveOneLate(link, id, state, version, survivorId));
      }
    }
  }

  private moveOneLate(
    link: Link,
    id: string,
    { recordId, subjectId }: Exclude<LinkState, { status: 'unknown' }>,
    version: number,
    survivorId: string,
  ): Decision {
    // The erasure has ended links that cannot be moved.
    if (!link.isMovable) {
      const begun = link.begin(recordId, survivorId, (linkId) => ({ recordId: linkId, writes: [] }));
      return { recordId: begun.linkId, writes: [begun.write], claims: [begun.claim] };
    }
    const ends = { from: subjectId, to: survivorId };
    const { write, claim } = link.move(id, recordId, ends, version, null, () => {
      const [ended] = link.end(id, recordId, survivorId, version).write.events;
      return { recordId: id, writes: [{ ...write, events: [...write.events, ended!] }] };
    });
    return { recordId: id, writes: [write], claims: [claim] };
  }

  private async end(
    { organizationId }: Input,
    link: Link,
    id: string,
    recordId: string,
    subjectId: string,
  ): Promise<ReturnType<Link['end']> | undefined> {
    const { state, version } = await this.records.load(link.decider, organizationId, id);
    return state.status === 'standing' ? link.end(id, recordId, subjectId, version) : undefined;
  }

  private async personalOf(organizationId: string, id: string): Promise<JsonObject | null> {
    let personal: JsonObject | null = null;
    for await (const events of this.store.readStreamPages(organizationId, id, {}))
      personal = events.at(-1)?.personal ?? null;
    return personal;
  }
}
