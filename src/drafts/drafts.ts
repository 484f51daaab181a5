import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { EventStore, openBytes, sealBytes } from '#libs/event-store';

/** Days after which a draft that no one has continued is deleted. */
const DRAFT_DAYS = 30;
/** Drafts per member. The oldest are deleted. */
const MOST_DRAFTS = 50;

/** A form as one member fills it in. Each member has drafts of their own. */
export type DraftedForm = {
  organizationId: string;
  memberId: string;
  /** The form's name: `posts/new`. */
  form: string;
  /** The record that the form changes; null for a new one. */
  recordId: string | null;
};

/** Names and values, as a browser sends them. */
type DraftFields = [name: string, value: string][];

type Draft = { fields: DraftFields; savedAt: Date };

/**
 * What members have typed into forms and not saved yet. This is working state, not history: each save replaces the one before, and
 * there are no events. People write about people, so it is encrypted, and deleted as soon as no one needs it.
 */
@Injectable()
export class Drafts {
  constructor(
    private readonly source: DataSource,
    private readonly store: EventStore,
  ) {}

  async save({ organizationId, memberId, form, recordId }: DraftedForm, fields: DraftFields): Promise<void> {
    const bound = boundTo({ organizationId, memberId, form });
    const { key, wrapped } = this.store.keyring.newSubjectKey(bound);
    const sealed = sealBytes(key, Buffer.from(JSON.stringify(fields)), bound);
    await this.source.query(
      `INSERT INTO drafts (organization_id, member_id, form, record_id, wrapped_key, sealed, saved_at)
       VALUES ($1, $2, $3, $4, $5, $6, clock_timestamp())
       ON CONFLICT (organization_id, member_id, form) DO UPDATE
       SET wrapped_key = excluded.wrapped_key, sealed = excluded.sealed, saved_at = excluded.saved_at`,
      [organizationId, memberId, form, recordId, wrapped, sealed],
    );
    await this.source.query(
      `DELETE FROM drafts WHERE organization_id = $1 AND member_id = $2 AND form IN (
         SELECT form FROM drafts WHERE organization_id = $1 AND member_id = $2 ORDER BY saved_at DESC OFFSET $3)`,
      [organizationId, memberId, MOST_DRAFTS],
    );
  }

  async find(of: DraftedForm): Promise<Draft | undefined> {
    const bound = boundTo(of);
    const [row] = await this.source.query<{ wrapped_key: Buffer; sealed: Buffer; saved_at: Date }[]>(
      `SELECT wrapped_key, sealed, saved_at FROM drafts
       WHERE organization_id = $1 AND member_id = $2 AND form = $3
         AND saved_at > clock_timestamp() - make_interval(days => ${DRAFT_DAYS})`,
      [of.organizationId, of.memberId, of.form],
    );
    if (!row) return undefined;
    let key: Buffer;
    try {
      key = this.store.keyring.unwrap(row.wrapped_key, bound);
    } catch {
      // The master key has been replaced since. Drafts are too short-lived to be wrapped again.
      return undefined;
    }
    const fields = JSON.parse(openBytes(key, row.sealed, bound).toString('utf8')) as DraftFields;
    return { fields, savedAt: row.saved_at };
  }

  async discard({ organizationId, memberId, form }: DraftedForm): Promise<void> {
    await this.source.query(
      'DELETE FROM drafts WHERE organization_id = $1 AND member_id = $2 AND form = $3',
      [organizationId, memberId, form],
    );
  }

  /** @param id of a member or a record that no longer exists. */
  async deleteOf(organizationId: string, id: string): Promise<void> {
    await this.source.query(
      'DELETE FROM drafts WHERE organization_id = $1 AND (member_id = $2 OR record_id = $2)',
      [organizationId, id],
    );
  }

  async deleteOld(): Promise<void> {
    await this.source.query(
      `DELETE FROM drafts WHERE saved_at < clock_timestamp() - make_interval(days => ${DRAFT_DAYS})`,
    );
  }
}

/** The key and the fields open only for this member and this form. */
function boundTo({ organizationId, memberId, form }: Omit<DraftedForm, 'recordId'>): string {
  return `draft ${organizationId} ${memberId} ${form}`;
}
