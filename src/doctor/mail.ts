import { probeMailServer } from '#libs/mail';
import { type Finding, ok, problem, warning } from './finding.js';
import { type Check } from './deployment.js';

const PATIENCE_MS = 15_000;

/** Whether mail can be sent: as a server would, up to the login; nothing is sent. */
export const mail: Check = {
  name: 'mail',
  async examine({ config, isWrong }) {
    if (isWrong('MAIL_URL')) return [];
    const { mailUrl, mailFrom, databaseUrl } = config;
    if (mailUrl === undefined) {
      if (databaseUrl === undefined) return [ok('Mail is written to files under DATA_DIR/mail.')];
      return [
        warning(
          'MAIL_URL is not set: mail is written to files under DATA_DIR/mail, where this can be written, and sent to nobody.',
          'Set MAIL_URL to the server that sends your mail: docs/guides/mail.md.',
        ),
      ];
    }
    const found: Finding[] = [];
    const trouble = await probeMailServer(mailUrl, AbortSignal.timeout(PATIENCE_MS));
    if (trouble !== undefined) {
      found.push(
        problem(
          `Mail cannot be sent: ${trouble}. What is to be sent waits.`,
          'Mend MAIL_URL, the server, or what stands between: name, port, certificate, user and password.',
        ),
      );
    }
    if (mailFrom === undefined && !isWrong('MAIL_FROM')) {
      found.push(
        warning(
          'MAIL_FROM is not set: organizations without a mailFrom of their own can send nothing.',
          'Set it to an address that the mail server may send from.',
        ),
      );
    }
    return found.length > 0 ? found : [ok('The mail server answers, and lets us in.')];
  },
};
