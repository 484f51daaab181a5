import { createHash } from 'node:crypto';
import { type Decider, streamIdOf } from '#libs/event-store';

/** Whether a team member showed or hid a public comment. WAITING: neither yet. */
export const COMMENT_STATES = ['WAITING', 'SHOWN', 'HIDDEN'] as const;
export type CommentState = (typeof COMMENT_STATES)[number];

export type CommentEvent = {
  type: 'CommentShown' | 'CommentHidden';
  data: { petitionId: string; signatureId: string };
};

/** By the type of the event. */
export const COMMENT_STATE_AFTER = { CommentShown: 'SHOWN', CommentHidden: 'HIDDEN' } as const;

/**
 * What a team member decided on the public comment of a signature. A stream next to the signature's own, whose events contain no
 * personal data: they stay true if the signature moves to another contact or its signer is erased.
 */
export const comment: Decider<CommentState, CommentEvent> = {
  streamType: 'comment',
  initial: 'WAITING',
  events: { CommentShown: true, CommentHidden: true },
  evolve: (_, { type }) => COMMENT_STATE_AFTER[type],
};

/** Derived from the signature's id. */
export function commentId(signatureId: string): string {
  return streamIdOf(createHash('sha256').update(`comment ${signatureId}`).digest());
}

/** Repeating a decision changes nothing. */
export function reviewComment(state: CommentState, event: CommentEvent): CommentEvent[] {
  return COMMENT_STATE_AFTER[event.type] === state ? [] : [event];
}
