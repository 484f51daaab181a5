import { type Projection, schemaOf } from '#libs/projections';
import { reasonsAfter, type Reason, suppression, type SuppressionEvent } from './suppression.js';
import { type SuppressedAddressEvent } from './suppressed-address.js';

type ContactErased = { type: 'ContactErased'; data: Record<string, never> };

type Row = {
  organization_id: string;
  id: string;
  created_at: Date;
  /** Its first reason, by which it is listed. */
  reason: Reason;
  reasons: readonly Reason[];
  /** Whose key encrypts the address: a contact's, or its own. */
  subject_id: string | null;
  /** Hexadecimal. */
  sealed_email: string | null;
};

type Period = {
  organization_id: string;
  id: string;
  created_at: Date;
  created_position: number;
  ended_at: Date | null;
  ended_position: number | null;
};

/** The context under which the address is encrypted. */
export const SEALED_EMAIL = 'suppression.email';

const FIND = `
  SELECT s.organization_id, s.id, s.created_at, s.reason, s.reasons, s.subject_id, encode(s.sealed_email, 'hex') AS sealed_email
  FROM suppressions s JOIN unnest($1::uuid[], $2::uuid[]) AS e(organization_id, id)
    ON s.organization_id = e.organization_id AND s.id = e.id`;

const UPSERT = `
  INSERT INTO suppressions (organization_id, id, created_at, reason, reasons, subject_id, sealed_email)
  SELECT organization_id, id, created_at, reason, reasons, subject_id, decode(sealed_email, 'hex')
  FROM jsonb_to_recordset($1::jsonb) AS row(organization_id uuid, id uuid, created_at timestamptz, reason text,
    reasons jsonb, subject_id uuid, sealed_email text)
  ON CONFLICT (organization_id, id) DO UPDATE SET created_at = excluded.created_at, reason = excluded.reason,
    reasons = excluded.reasons, subject_id = excluded.subject_id, sealed_email = excluded.sealed_email`;

const END = `
  DELETE FROM suppressions s USING unnest($1::uuid[], $2::uuid[]) AS e(organization_id, id)
  WHERE s.organization_id = e.organization_id AND s.id = e.id`;

const BEGIN_PERIODS = `
  INSERT INTO suppression_periods (organization_id, id, created_at, created_position, ended_at, ended_position)
  SELECT * FROM jsonb_to_recordset($1::jsonb) AS row(organization_id uuid, id uuid, created_at timestamptz,
    created_position bigint, ended_at timestamptz, ended_position bigint)`;

const END_PERIODS = `
  UPDATE suppression_periods p SET ended_at = e.at, ended_position = e.position
  FROM unnest($1::uuid[], $2::uuid[], $3::timestamptz[], $4::bigint[]) AS e(organization_id, id, at, position)
  WHERE p.organization_id = e.organization_id AND p.id = e.id AND p.ended_at IS NULL`;

const FORGET = `
  UPDATE suppressions s SET subject_id = NULL, sealed_email = NULL
  FROM unnest($1::uuid[], $2::uuid[]) AS e(organization_id, subject_id)
  WHERE s.organization_id = e.organization_id AND s.subject_id = e.subject_id`;

/** Active suppressions, by the id derived from their address's hash. The address itself is encrypted. */
export const suppressionsProjection: Projection<SuppressionEvent | SuppressedAddressEvent | ContactErased> = {
  name: 'suppressions',
  version: 2,
  handles: ['AddressSuppressed', 'SuppressionEnded', 'SuppressedAddressErased', 'ContactErased'],
  erasure: { event: 'ContactErased', inPlain: false, earlier: { 1: FORGET } },
  appliesBy: ['suppressions_by_subject'],
  tables: `
    CREATE TABLE suppressions (
      organization_id uuid           NOT NULL,
      id              uuid           NOT NULL,
      created_at      timestamptz(3) NOT NULL,
      reason          text           NOT NULL,
      reasons         jsonb          NOT NULL,
      subject_id      uuid,
      sealed_email    bytea,
      PRIMARY KEY (organization_id, id)
    );
    CREATE INDEX suppressions_by_creation ON suppressions (organization_id, created_at, id);
    CREATE INDEX suppressions_by_reason ON suppressions (organization_id, reason, id);
    CREATE INDEX suppressions_by_subject ON suppressions (organization_id, subject_id) WHERE subject_id IS NOT NULL;
    -- Each time that an address was suppressed, also in the past. No address, no reason.
    CREATE TABLE suppression_periods (
      organization_id  uuid           NOT NULL,
      id               uuid           NOT NULL,
      created_at       timestamptz(3) NOT NULL,
      created_position bigint         NOT NULL,
      ended_at         timestamptz(3),
      ended_position   bigint,
      PRIMARY KEY (organization_id, id, created_position)
    );
    CREATE INDEX suppression_periods_by_creation ON suppression_periods (organization_id, created_at, id);`,

  async apply(events, transaction, seal) {
    const changes = events.filter(({ streamType }) => streamType === suppression.streamType);
    const keys = new Map(changes.map(({ streamId, organizationId }) => [streamId, organizationId]));
    const rows = new Map<string, Row>();
    if (keys.size > 0) {
      const found = await transaction.query<Row[]>(FIND, [[...keys.values()], [...keys.keys()]]);
      for (const row of found) rows.set(row.id, row);
    }
    const erased = new Map<string, string>();
    const begun = new Map<string, Period>();
    const over: { organization_id: string; id: string; ended_at: Date; ended_position: number }[] = [];
    const periods: Period[] = [];
    for (const event of events) {
      const { streamId: id, organizationId: organization_id, recordedAt: created_at } = event;
      switch (event.type) {
        case 'AddressSuppressed':
        case 'SuppressionEnded': {
          const before = rows.get(id);
          const reasons = reasonsAfter(before?.reasons ?? [], event);
          const [reason] = reasons;
          if (reason === undefined) {
            const end = { ended_at: created_at, ended_position: event.position };
            const period = begun.get(id);
            if (period) Object.assign(period, end);
            else if (before) over.push({ organization_id, id, ...end });
            begun.delete(id);
            rows.delete(id);
            break;
          }
          if (!before) {
            const period = { organization_id, id, created_at, created_position: event.position };
            periods.push({ ...period, ended_at: null, ended_position: null });
            begun.set(id, periods.at(-1)!);
          }
          const row = before ?? { organization_id, id, created_at, subject_id: null, sealed_email: null };
          rows.set(id, { ...row, reason, reasons });
          if (event.type === 'SuppressionEnded') break;
          const { contactId, addressId } = event.data;
          const subject_id = contactId ?? addressId;
          if (subject_id === null) break;
          const { personal } = event;
          const sealed_email = personal && seal(event, SEALED_EMAIL, personal.email).toString('hex');
          rows.set(id, { ...rows.get(id)!, subject_id, sealed_email });
          break;
        }
        case 'SuppressedAddressErased':
        case 'ContactErased':
          erased.set(id, organization_id);
          break;
        case 'SuppressedAddressNoted':
      }
    }
    const ended = [...keys].filter(([id]) => !rows.has(id));
    if (rows.size > 0) void transaction.send(UPSERT, [JSON.stringify([...rows.values()])]);
    if (over.length > 0) {
      const columns = ['organization_id', 'id', 'ended_at', 'ended_position'] as const;
      void transaction.send(
        END_PERIODS,
        columns.map((column) => over.map((period) => period[column])),
      );
    }
    if (periods.length > 0) void transaction.send(BEGIN_PERIODS, [JSON.stringify(periods)]);
    if (ended.length > 0) void transaction.send(END, [ended.map(([, of]) => of), ended.map(([id]) => id)]);
    // Last, because no event concerns a person after their erasure.
    if (erased.size > 0) void transaction.send(FORGET, [[...erased.values()], [...erased.keys()]]);
  },
};

export const SUPPRESSIONS_TABLE = `${schemaOf(suppressionsProjection)}.suppressions`;
export const SUPPRESSION_PERIODS_TABLE = `${schemaOf(suppressionsProjection)}.suppression_periods`;
