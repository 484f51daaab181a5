/**
 * Why a recipient received nothing or may have received it, as recorded by this server. Other details come
 * from mail servers.
 */
export const RECIPIENT_DETAILS = {
  died: 'The sending process crashed before it recorded the outcome.',
  failed: 'The server failed while sending the message.',
  cancelled: 'The broadcast was cancelled.',
  erased: 'The contact was erased.',
  unsubscribed: 'The contact unsubscribed.',
  suppressed: 'The address is suppressed.',
} as const;
export type RecipientDetail = keyof typeof RECIPIENT_DETAILS;
