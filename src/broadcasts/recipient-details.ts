/** Why somebody got nothing, or may have: what this program itself says of recipients. All else is what mail servers have said. */
export const RECIPIENT_DETAILS = {
  died: 'The process that sent it died before it noted what became of it.',
  failed: 'The program failed while it sent the message.',
  cancelled: 'The broadcast was cancelled.',
  erased: 'The contact was erased.',
  unsubscribed: 'The contact has unsubscribed.',
  suppressed: 'The address is suppressed.',
} as const;
export type RecipientDetail = keyof typeof RECIPIENT_DETAILS;
