import { join } from 'node:path';
import { probeMailServer } from '#libs/mail';
import { unwritable } from './directory.js';
import { type Check } from './deployment.js';

const TIMEOUT_MS = 15_000;

/** Connects and logs in to the mail server, as a server would, without sending anything. */
export const mail: Check = {
  name: 'mail',
  async examine({ config, isWrong }, found) {
    if (isWrong('MAIL_URL')) return undefined;
    const { mailUrl, mailFrom, databaseUrl, dataDirectory } = config;
    if (mailUrl === undefined) {
      const code = await unwritable(join(dataDirectory, 'mail'));
      if (code !== undefined)
        return found.warning(
          `MAIL_URL is not set, and this user cannot write to DATA_DIR/mail (${code}). Emails are queued and sent to no one.`,
          'Set MAIL_URL to your mail server: docs/guides/mail.md. To write emails to files, make DATA_DIR writable.',
        );
      if (databaseUrl === undefined) return 'Emails are written to files in DATA_DIR/mail.';
      return found.warning(
        'MAIL_URL is not set. Emails are written to files in DATA_DIR/mail and sent to no one.',
        'Set MAIL_URL to your mail server: docs/guides/mail.md.',
      );
    }
    const reason = await probeMailServer(mailUrl, AbortSignal.timeout(TIMEOUT_MS));
    if (reason !== undefined)
      found.problem(
        `Emails cannot be sent: ${reason.replace(/\.$/, '')}. They are queued.`,
        'Check the host name, port, user name and password in MAIL_URL, the certificate, the server and the network.',
      );
    if (mailFrom === undefined && !isWrong('MAIL_FROM'))
      found.warning(
        'MAIL_FROM is not set. Organizations without their own mailFrom cannot send email.',
        'Set it to an address that the mail server accepts as sender.',
      );
    return 'The mail server responds and accepts the login.';
  },
};
