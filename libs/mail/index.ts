export { isSenderAddress, isSentAsCompared, readMailAddress } from './mail-address.js';
export { MAIL_URL_FORMS, readMailUrl, WrongMailUrl } from './mail-url.js';
export { type ListedMail, MailFiles, MOST_SEARCHED, writtenAt } from './mail-files.js';
export { Mailer, type MailerOptions, probeMailServer } from './mailer.js';
export { domainOf, type MailAddress, type MailMessage, type MailOutcome } from './message.js';
export { type ReadMail } from './read-mail.js';
export { type Brand, linesOf, mailDocument } from './layout.js';
export { writeLetter } from './letter.js';
