import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { EventStore, wrappedKeyOf } from '#libs/event-store';
import { LINK_DETAIL } from '#libs/links';
import { ContactsByIds } from '../contacts/index.js';
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

/** Comments that signers made public. */
@Injectable()
export class PublicComments {
  constructor(
    private readonly source: DataSource,
    private readonly store: EventStore,
    private readonly contacts: ContactsByIds,
  ) {}

  /** The newest ones, of valid signatures only. Comments of erased signers are left out. */
  async newest(organizationId: string, petitionId: string, most: number): Promise<PublicComment[]> {
    const rows = await this.source.query<Row[]>(
      `SELECT id, subject_id, detail, appearance, ${signedAt('page')} AS signed_at, ${wrappedKeyOf('page', 'subject_id')} AS wrapped_key FROM (
         SELECT * FROM ${petitions.linkTable!} s
         WHERE s.organization_id = $1 AND s.record_id = $2 AND s.is_comment_public AND s.detail IS NOT NULL
           AND s.ended_at IS NULL
         ORDER BY s.created_at DESC LIMIT $3
       ) page ORDER BY created_at DESC, id DESC`,
      [organizationId, petitionId, most],
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
}
