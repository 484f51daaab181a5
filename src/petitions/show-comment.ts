import { handlerOf, Operation } from '#libs/rpc';
import { CommentReview, ReviewCommentInput, reviewedCommentSchema } from './comment-review.js';

@Operation({
  name: 'petition.show-comment',
  summary: 'Show or approve the comment of a signature',
  description:
    'Petition pages show the comment again if it was hidden. If `comments` of the petition is `APPROVED`, this approves it. ' +
    'Comments that signers keep private cannot be shown.',
  answers: reviewedCommentSchema,
  reasons: ['NO_PUBLIC_COMMENT'],
})
export class ShowComment extends ReviewCommentInput {}

export const ShowCommentHandler = handlerOf(ShowComment, [CommentReview], (command, comments) =>
  comments.review(command, 'CommentShown'),
);
