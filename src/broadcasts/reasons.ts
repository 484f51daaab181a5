export const reasons = {
  CONFLICT: {
    BROADCAST_BEGUN:
      'The broadcast is being sent, was sent or was cancelled, so it can no longer be changed like this. ' +
      'error.message explains what you can do.',
    BROADCAST_NOT_SENDING: 'The broadcast is not being sent, so it cannot be paused, resumed or retried.',
    BROADCAST_NOT_READY:
      'The broadcast cannot be sent yet. error.issues lists every problem. Fix them and send it again.',
    RECIPIENTS_DELETED:
      'The recipients of the broadcast were deleted because their retention period is over. get-broadcast still returns their numbers.',
    NO_THANK_YOU_MAIL:
      'The petition has no thank-you email. Set `thankYouMail` with `petition.update-petition`.',
  },
} as const;

declare module '#libs/rpc' {
  interface ModuleReasons {
    broadcasts: typeof reasons;
  }
}
