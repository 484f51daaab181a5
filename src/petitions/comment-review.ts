import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Commands } from '#libs/commands';
import { isId, noSuch, RecordInput, recordSchema, RpcError } from '#libs/rpc';
import {
  comment,
  COMMENT_STATES,
  type CommentEvent,
  commentId,
  type CommentState,
  reviewComment,
} from './comment.js';
import { petitions } from './petitions.js';

export class ReviewCommentInput extends RecordInput('signatureId') {}

type ReviewedComment = { signatureId: string; petitionId: string; commentState: CommentState };

export const reviewedCommentSchema = recordSchema({
  signatureId: { type: 'string' },
  petitionId: { type: 'string' },
  commentState: { type: 'string', enum: COMMENT_STATES },
});

/** Shows and hides comments. */
@Injectable()
export class CommentReview {
  constructor(
    private readonly source: DataSource,
    private readonly commands: Commands,
  ) {}

  /** @throws RpcError NOT_FOUND if the signature does not exist; CONFLICT if it has no public comment. */
  async review(command: ReviewCommentInput, type: CommentEvent['type']): Promise<ReviewedComment> {
    const { organizationId, signatureId } = command;
    const petitionId = await this.petitionOf(organizationId, signatureId);
    const { state } = await this.commands.change(comment, command, commentId(signatureId), (before) =>
      reviewComment(before, { type, data: { petitionId, signatureId } }),
    );
    return { signatureId, petitionId, commentState: state };
  }

  /** Signatures that do not count can be reviewed too, because they may be restored. Withdrawn ones cannot. */
  private async petitionOf(organizationId: string, signatureId: string): Promise<string> {
    if (!isId(signatureId)) throw noSuch('signature');
    const [row] = await this.source.query<{ record_id: string; is_public: boolean }[]>(
      `SELECT record_id, comment_state IS NOT NULL AND detail IS NOT NULL AS is_public FROM ${petitions.linkTable!}
       WHERE organization_id = $1 AND id = $2 AND (ended_at IS NULL OR suspended_by IS NOT NULL)`,
      [organizationId, signatureId],
    );
    if (!row) throw noSuch('signature');
    if (!row.is_public)
      throw new RpcError('CONFLICT', 'This signature has no public comment to show or hide.', {
        reason: 'NO_PUBLIC_COMMENT',
      });
    return row.record_id;
  }
}
