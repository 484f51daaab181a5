import { handlerOf, Operation } from '#libs/rpc';
import { CommentReview, ReviewCommentInput, reviewedCommentSchema } from './comment-review.js';

@Operation({
  name: 'petition.hide-comment',
  summary: 'Hide the comment of a signature',
  description:
    'The petition’s page no longer shows the comment. The signature still counts. To undo this, use `petition.show-comment`.',
  answers: reviewedCommentSchema,
  reasons: ['NO_PUBLIC_COMMENT'],
})
export class HideComment extends ReviewCommentInput {}

export const HideCommentHandler = handlerOf(HideComment, [CommentReview], (command, comments) =>
  comments.review(command, 'CommentHidden'),
);
