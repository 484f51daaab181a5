import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { EventStore, wrappedKeyOf } from '#libs/event-store';
import { LINK_DETAIL } from '#libs/links';
import { ContactsByIds } from '../contacts/index.js';
import { type CommentState } from './comment.js';
import { type Comments } from './petition.js';
import { petitions, signedAt } from './petitions.js';
import { type Appearance } from './signature-request.js';

export type PublicComment = { name: string; text: string; at: Date };

type Row = {
  id: string;
  subject_id: string;
  detail: Buffer;
  appearance: Appearance | null;
  signed_at: Date;
  wrapped_key: Buffer | null;
};

/** The states of the comments on the page. */
const SHOWN: { readonly [comments in Comments]: readonly CommentState[] } = {
  OFF: [],
  SHOWN: ['WAITING', 'SHOWN'],
  APPROVED: ['SHOWN'],
};

@Injectable()
export class PublicComments {
  constructor(
    private readonly source: DataSource,
    private readonly store: EventStore,
    private readonly contacts: ContactsByIds,
  ) {}

  /**
   * The newest ones, of valid signatures only. Hidden comments and those of erased signers are left out.
   *
   * @param comments which ones the petition shows.
   */
  async newest(
    organizationId: string,
    petitionId: string,
    comments: Comments,
    most: number,
  ): Promise<PublicComment[]> {
    const rows = await this.source.query<Row[]>(
      `SELECT id, subject_id, detail, appearance, ${signedAt('page')} AS signed_at, ${wrappedKeyOf('page', 'subject_id')} AS wrapped_key FROM (
         SELECT s.* FROM unnest($4::text[]) AS shown(state) CROSS JOIN LATERAL (
           SELECT * FROM ${petitions.linkTable!} l
           WHERE l.organization_id = $1 AND l.record_id = $2 AND l.comment_state = shown.state AND l.detail IS NOT NULL
             AND l.ended_at IS NULL
           ORDER BY l.created_at DESC, l.id DESC LIMIT $3
         ) s ORDER BY s.created_at DESC, s.id DESC LIMIT $3
       ) page ORDER BY created_at DESC, id DESC`,
      [organizationId, petitionId, most, SHOWN[comments]],
    );
    const signers = await this.contacts.find(
      organizationId,
      rows.map(({ subject_id }) => subject_id),
    );
    return rows.flatMap(({ subject_id, detail, appearance, signed_at: at, wrapped_key }) => {
      const { firstName, lastName } = signers.get(subject_id) ?? {};
      if (!firstName || !wrapped_key) return [];
      const name = appearance === 'FULL_NAME' && lastName ? `${firstName} ${lastName}` : firstName;
      const text = this.store.opener(subject_id, wrapped_key)(LINK_DETAIL, detail);
      return text === null ? [] : [{ name, text, at }];
    });
  }

  /** The number of comments of all petitions that await approval; at most `most`. */
  async waitingInAll(organizationId: string, most: number): Promise<number> {
    const [row] = await this.source.query<{ count: number }[]>(
      `SELECT count(*)::int AS count FROM (
         SELECT FROM ${petitions.table} p CROSS JOIN LATERAL (
           SELECT FROM ${petitions.linkTable!}
           WHERE organization_id = $1 AND record_id = p.id AND comment_state = 'WAITING' AND detail IS NOT NULL
             AND ended_at IS NULL ORDER BY created_at LIMIT $2
         ) comment
         WHERE p.organization_id = $1 AND p.state->>'comments' = 'APPROVED' LIMIT $2
       ) waiting`,
      [organizationId, most],
    );
    return row!.count;
  }

  /**
   * The number of comments that await a review, by petition; at most `most` of each. The order makes PostgreSQL use their index.
   *
   * @param since only comments that were recorded after this moment.
   */
  async waiting(
    organizationId: string,
    petitionIds: readonly string[],
    most: number,
    since: Date | null = null,
  ): Promise<ReadonlyMap<string, number>> {
    if (petitionIds.length === 0) return new Map();
    const rows = await this.source.query<{ id: string; count: number }[]>(
      `SELECT petition.id, (
         SELECT count(*)::int FROM (
           SELECT FROM ${petitions.linkTable!}
           WHERE organization_id = $1 AND record_id = petition.id AND comment_state = 'WAITING' AND detail IS NOT NULL
             AND ended_at IS NULL AND created_at > coalesce($4::timestamptz, '-infinity') ORDER BY created_at LIMIT $3
         ) waiting
       ) AS count FROM unnest($2::uuid[]) AS petition(id)`,
      [organizationId, petitionIds, most, since],
    );
    return new Map(rows.map(({ id, count }) => [id, count]));
  }
}
