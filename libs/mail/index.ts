export { Mailer } from './mailer.js';
export { type MailAddress, type MailMessage, type MailOutcome } from './message.js';
