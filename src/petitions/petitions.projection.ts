import { Injectable } from '@nestjs/common';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { DataSource } from 'typeorm';
import { queryWide, ReadSource } from '#libs/database';
import { type Past, type RecordedEvent } from '#libs/event-store';
import {
  countAt,
  hasGoneOn,
  type LinkChange,
  LinkTable,
  type Projection,
  type RecordRow,
  RecordTable,
  replayable,
  schemaOf,
} from '#libs/projections';
import { isId } from '#libs/rpc';
import { petitionRecord, type PetitionRecord } from './petition-record.js';
import { noSuchPetition, isStanding, petition, type Petition, type PetitionEvent } from './petition.js';
import { type SignatureEvent } from './signature.js';

/** The contacts module's event, as far as it matters here. */
type ContactErased = { type: 'ContactErased'; data: Record<string, never> };
type Event = PetitionEvent | SignatureEvent | ContactErased;

const petitions = new RecordTable(
  petition,
  'petitions',
  {
    name: { type: 'text', index: true, search: true },
    title: { type: 'text', search: true },
    status: { type: 'text', index: true },
  },
  (state) => (isStanding(state) ? { name: state.name, title: state.title, status: state.status } : undefined),
  { ownColumns: ['signatures integer NOT NULL DEFAULT 0'], apart: 'content' },
);

/** The signatures of the erased stay counted, without a name. */
const AT_ERASURE = 'loses its name';

const signatures = new LinkTable('signatures', { table: 'petitions', column: 'signatures' }, AT_ERASURE);

/** Whose signature it was, the earlier version itself still counts with. */
const FORGET_COMMENTS = `
  UPDATE signatures s SET detail = NULL FROM unnest($1::uuid[], $2::uuid[]) AS e(organization_id, id)
  WHERE s.organization_id = e.organization_id AND s.subject_id = e.id AND s.detail IS NOT NULL`;

export const petitionsProjection: Projection<Event> = {
  name: 'petitions',
  version: 3,
  erasure: {
    event: 'ContactErased',
    // Comments are sealed, names are the contacts'.
    inPlain: false,
    earlier: {
      1: FORGET_COMMENTS,
      2: FORGET_COMMENTS,
    },
  },
  handles: [
    'PetitionCreated',
    'PetitionUpdated',
    'PetitionPublished',
    'PetitionClosed',
    'PetitionDeleted',
    'PetitionSigned',
    'SignatureWithdrawn',
    'ContactErased',
  ],
  tables: `
    ${petitions.definition}
    ${signatures.definition}
  `,
  async apply(events, transaction, seal) {
    await petitions.apply(events, transaction);
    await signatures.apply(events.flatMap(signatureChange), transaction, seal);
  },
  get snapshots() {
    return petitions.snapshots(this);
  },
};

function signatureChange(event: RecordedEvent<Event>): LinkChange[] {
  switch (event.type) {
    case 'PetitionSigned': {
      const { petitionId: recordId, contactId: subjectId } = event.data;
      return [{ kind: 'begins', event, recordId, subjectId, detail: event.personal?.comment ?? null }];
    }
    case 'SignatureWithdrawn': {
      const { petitionId: recordId, contactId: subjectId } = event.data;
      return [{ kind: 'ends', event, recordId, subjectId }];
    }
    case 'ContactErased':
      return [{ kind: 'erased', event }];
    case 'PetitionCreated':
    case 'PetitionUpdated':
    case 'PetitionPublished':
    case 'PetitionClosed':
    case 'PetitionDeleted':
      return [];
  }
}

/** Petitions out of an exported history. */
export const replayablePetitions = replayable(
  'petition',
  petition,
  (organizationId, id, folded, count) =>
    isStanding(folded.state) ? petitionRecord(organizationId, id, folded, count) : undefined,
  { changes: (event) => (isMine(event) ? signatureChange(event) : []), atErasure: AT_ERASURE },
);

function isMine(event: RecordedEvent): event is RecordedEvent<Event> {
  return (petitionsProjection.handles as readonly string[]).includes(event.type);
}

export const PETITIONS_TABLE = `${schemaOf(petitionsProjection)}.petitions`;
export const SIGNATURES_TABLE = `${schemaOf(petitionsProjection)}.signatures`;

export type PetitionRow = RecordRow<Petition> & { signatures: number };

export const petitionPage = (include?: 'content') => petitions.page(include);

/** Without content unless the row was read with it. */
export function recordFromRow(row: PetitionRow): PetitionRecord {
  return petitionRecord(row.organization_id, row.id, petitions.recordOf(row), row.signatures);
}

/** Reads the read model. */
@Injectable()
export class PetitionsTable {
  /** Counts that are about to be read. */
  private readonly counting = new Map<string, Promise<number>>();

  constructor(
    private readonly source: DataSource,
    private readonly reads: ReadSource,
  ) {}

  /** @throws RpcError NOT_FOUND unless the petition stands. */
  async require(organizationId: string, petitionId: string): Promise<void> {
    const rows = isId(petitionId)
      ? await this.source.query<unknown[]>(
          `SELECT 1 FROM ${PETITIONS_TABLE} WHERE organization_id = $1 AND id = $2`,
          [organizationId, petitionId],
        )
      : [];
    if (rows.length === 0) throw noSuchPetition();
  }

  /** Undefined also where the history has gone on: then it knows more. */
  async find(organizationId: string, petitionId: string): Promise<PetitionRecord | undefined> {
    if (!isId(petitionId)) return undefined;
    const [row] = await this.source.query<PetitionRow[]>(
      `SELECT * FROM ${PETITIONS_TABLE} p WHERE organization_id = $1 AND id = $2 AND NOT ${hasGoneOn('p')}`,
      [organizationId, petitionId],
    );
    return row && recordFromRow(row);
  }

  /**
   * The number of standing signatures; 0 where there is no such petition. Signers whose commands were projected
   * together ask together: one query answers all who ask before it starts, none who asks after.
   */
  countSignatures(organizationId: string, petitionId: string): Promise<number> {
    const key = `${organizationId} ${petitionId}`;
    let count = this.counting.get(key);
    if (!count) {
      count = nextTurn().then(() => {
        this.counting.delete(key);
        return this.readCount(organizationId, petitionId);
      });
      this.counting.set(key, count);
    }
    return count;
  }

  private async readCount(organizationId: string, petitionId: string): Promise<number> {
    const [row] = await this.source.query<{ signatures: number }[]>(
      `SELECT signatures FROM ${PETITIONS_TABLE} WHERE organization_id = $1 AND id = $2`,
      [organizationId, petitionId],
    );
    return row?.signatures ?? 0;
  }

  async countSignaturesAt(
    organizationId: string,
    petitionId: string,
    { moment, position }: Past,
  ): Promise<number> {
    const values = [organizationId, petitionId, moment, position];
    const query = countAt(SIGNATURES_TABLE);
    const [row] = await queryWide<{ count: number }>(this.reads, organizationId, 'page', query, values);
    return row!.count;
  }

  /** The last signature of a contact that was withdrawn, if there was one. */
  async findWithdrawn(
    organizationId: string,
    petitionId: string,
    contactId: string,
  ): Promise<string | undefined> {
    const [row] = await this.source.query<{ id: string }[]>(
      `SELECT id FROM ${SIGNATURES_TABLE}
       WHERE organization_id = $1 AND subject_id = $3 AND record_id = $2 AND ended_at IS NOT NULL
       ORDER BY ended_at DESC LIMIT 1`,
      [organizationId, petitionId, contactId],
    );
    return row?.id;
  }
}
