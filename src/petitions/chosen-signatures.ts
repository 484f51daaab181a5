import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { EventStore } from '#libs/event-store';
import { hasEmailDomain } from '../contacts/index.js';
import { networksIn } from './client-networks.js';
import { type PlannedCondition } from './invalidation-plan.js';
import { type InvalidationCondition, type ExistingInvalidation } from './invalidation.js';
import { petitions } from './petitions.js';

/**
 * Signatures per event, and per transaction of the projection, which blocks signers: 1,000 would take a third
 * of a second.
 */
export const PAGE = 200;
/** Maximum signatures a request can name individually. They fit into one event. */
export const MAX_NAMED = 1_000;

/** Selects signatures of a petition: only valid ones, at or below a position in the log. */
export type Choice = { petitionId: string; upTo: number } & (
  | { condition: InvalidationCondition & Partial<PlannedCondition> }
  | { signatureIds: readonly string[] }
);

/** Finds signatures in the projection. */
@Injectable()
export class ChosenSignatures {
  constructor(
    private readonly source: DataSource,
    private readonly store: EventStore,
  ) {}

  /** Returns the ids that have never been a signature of this petition. */
  async findUnknown(
    organizationId: string,
    petitionId: string,
    signatureIds: readonly string[],
  ): Promise<string[]> {
    const rows = await this.source.query<{ id: string }[]>(
      `SELECT given.id FROM unnest($3::uuid[]) AS given(id) WHERE NOT EXISTS (
         SELECT FROM ${petitions.linkTable!} s
         WHERE s.organization_id = $1 AND s.id = given.id AND s.record_id = $2)`,
      [organizationId, petitionId, signatureIds],
    );
    return rows.map(({ id }) => id);
  }

  async count(organizationId: string, choice: Choice): Promise<number> {
    const { sql, values } = this.queryOf(organizationId, choice, null);
    const [row] = await this.source.query<{ count: number }[]>(
      `SELECT count(*)::int AS count ${sql}`,
      values,
    );
    return row!.count;
  }

  /** The first page, oldest first. @param after a signature: returns those after it. */
  async page(organizationId: string, choice: Choice, after: string | null): Promise<string[]> {
    const { sql, values } = this.queryOf(organizationId, choice, after);
    const limit = 'signatureIds' in choice ? MAX_NAMED : PAGE;
    return this.ids(`SELECT s.id ${sql} ORDER BY s.created_at, s.id LIMIT ${limit}`, values);
  }

  /** The first page of the signatures that an invalidation excluded and that can count again. */
  invalidatedBy(organizationId: string, invalidationId: string): Promise<string[]> {
    return this.ids(
      `SELECT id FROM ${petitions.linkTable!} WHERE organization_id = $1 AND suspended_by = $2
       ORDER BY id LIMIT ${PAGE}`,
      [organizationId, invalidationId],
    );
  }

  private queryOf(organizationId: string, choice: Choice, after: string | null): ReturnType<typeof queryOf> {
    return queryOf(this.store.keyring, organizationId, choice, after);
  }

  private async ids(sql: string, values: unknown[]): Promise<string[]> {
    const rows = await this.source.query<{ id: string }[]>(sql, values);
    return rows.map(({ id }) => id);
  }
}

/** The signatures that an invalidation by condition has yet to exclude. */
export function choiceOf({ petitionId, upTo, condition }: ExistingInvalidation): Choice {
  return condition ? { petitionId, upTo, condition } : { petitionId, upTo, signatureIds: [] };
}

function queryOf(
  keyring: EventStore['keyring'],
  organizationId: string,
  { petitionId, upTo, ...chosen }: Choice,
  after: string | null,
): { sql: string; values: unknown[] } {
  const values: unknown[] = [organizationId, petitionId, upTo];
  const parameter = (value: unknown) => `$${values.push(value)}`;
  const conditions: string[] = [];
  if ('signatureIds' in chosen) {
    conditions.push(`s.id = ANY (${parameter(chosen.signatureIds)}::uuid[])`);
  } else {
    const {
      createdAfter,
      createdBefore,
      emailDomain,
      clientAddress = null,
      suspicion = null,
    } = chosen.condition;
    if (createdAfter !== null) conditions.push(`s.created_at > ${parameter(createdAfter)}::timestamptz`);
    if (createdBefore !== null) conditions.push(`s.created_at < ${parameter(createdBefore)}::timestamptz`);
    if (emailDomain !== null) conditions.push(hasEmailDomain('s.subject_id', parameter(emailDomain)));
    if (suspicion !== null)
      conditions.push(`${parameter(suspicion)}::text = ANY (string_to_array(s.suspicion, ','))`);
    if (clientAddress !== null) {
      const networks = networksIn(keyring, clientAddress) ?? [];
      conditions.push(`string_to_array(s.client_networks, ' ') && ${parameter(networks)}::text[]`);
    }
  }
  if (after !== null) {
    conditions.push(`(s.created_at, s.id) > (
      SELECT l.created_at, l.id FROM ${petitions.linkTable!} l WHERE l.organization_id = $1 AND l.id = ${parameter(after)})`);
  }
  return {
    sql: `FROM ${petitions.linkTable!} s
      WHERE s.organization_id = $1 AND s.record_id = $2 AND s.created_position <= $3 AND s.ended_at IS NULL
      ${conditions.map((condition) => `AND ${condition}`).join('\n      ')}`,
    values,
  };
}
