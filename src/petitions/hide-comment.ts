import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Operation } from '#libs/rpc';
import {
  CommentReview,
  ReviewCommentInput,
  type ReviewedComment,
  reviewedCommentSchema,
} from './comment-review.js';

@Operation({
  name: 'petition.hide-comment',
  summary: 'Hide the comment of a signature',
  description:
    'The petition’s page no longer shows the comment. The signature still counts. To undo this, use `petition.show-comment`.',
  answers: reviewedCommentSchema,
  reasons: ['NO_PUBLIC_COMMENT'],
})
export class HideComment extends ReviewCommentInput {}

@CommandHandler(HideComment)
export class HideCommentHandler implements ICommandHandler<HideComment> {
  constructor(private readonly comments: CommentReview) {}

  async execute(command: HideComment): Promise<ReviewedComment> {
    return this.comments.review(command, 'CommentHidden');
  }
}
