export { AskToConfirm, unprovedName } from './ask-to-confirm.js';
export { ConfirmationMails } from './confirmation-mails.js';
export { type Confirmed, Confirmations } from './confirmations.js';
export { ConfirmationsModule } from './confirmations.module.js';
export { EndRequests } from './end-requests.js';
export {
  type PendingRequest,
  type PersonDetails,
  RequestKind,
  SUSPICIONS,
  type Suspicion,
} from './request.js';
export { endWithContacts } from './requests-of-contacts.js';
