import { domainToASCII } from 'node:url';

export type MailServer = {
  host: string;
  port: number;
  /** TLS from the first byte, rather than by STARTTLS. */
  secure: boolean;
  /** Nothing is sent before STARTTLS has succeeded. */
  requireTls: boolean;
  login: { user: string; password: string } | undefined;
  /** The name in EHLO; undefined: the machine's name. */
  name: string | undefined;
  tls: { rejectUnauthorized?: boolean; servername?: string };
};

export const MAIL_URL_FORMS =
  'smtp://[user:password@]host[:port] (port 587, STARTTLS if the server offers it) or smtps://[user:password@]host[:port] ' +
  '(port 465, TLS)';

/** The message never repeats the URL, which may contain a password. */
export class WrongMailUrl extends Error {}

const CONTROL = /[\x00-\x1f\x7f]/;
const HOST = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)$/i;
const OPTIONS = ['name', 'requireTLS', 'tls.rejectUnauthorized', 'tls.servername'];

/** @throws WrongMailUrl */
export function readMailUrl(text: string): MailServer {
  let url: URL;
  let user: string, password: string, hostname: string;
  try {
    url = new URL(text);
    [user, password] = [decodeURIComponent(url.username), decodeURIComponent(url.password)];
    hostname = decodeURIComponent(url.hostname);
  } catch {
    throw new WrongMailUrl(
      'It is not a valid URL. Percent-encode special characters in the user name and password.',
    );
  }
  if (!['smtp:', 'smtps:'].includes(url.protocol))
    throw new WrongMailUrl('It must start with smtp:// or smtps://.');
  const host = hostname.startsWith('[') ? hostname : domainToASCII(hostname) || hostname;
  if (!HOST.test(host)) throw new WrongMailUrl('It has no host.');
  if (!['', '/'].includes(url.pathname) || url.hash !== '') {
    throw new WrongMailUrl('Only options may follow the host. Percent-encode / and # in a password.');
  }
  if ((user === '') !== (password === ''))
    throw new WrongMailUrl('It must contain both a user name and a password, or neither.');
  if (CONTROL.test(user + password))
    throw new WrongMailUrl('The user name and password must not contain control characters.');

  const options = url.searchParams;
  const unknown = [...options.keys()].find((key) => !OPTIONS.includes(key));
  if (unknown !== undefined)
    throw new WrongMailUrl(`Unknown option. Available options: ${OPTIONS.join(', ')}.`);
  const flag = (name: string) => {
    const value = options.get(name) ?? undefined;
    if (![undefined, 'true', 'false'].includes(value))
      throw new WrongMailUrl(`${name} must be true or false.`);
    return value === undefined ? undefined : value === 'true';
  };
  const label = (name: string) => {
    const value = options.get(name) ?? undefined;
    if (value !== undefined && !HOST.test(value)) throw new WrongMailUrl(`${name} must be a host name.`);
    return value;
  };

  const secure = url.protocol === 'smtps:';
  const login = user === '' ? undefined : { user, password };
  const rejectUnauthorized = flag('tls.rejectUnauthorized');
  const servername = label('tls.servername');
  return {
    host: host.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? (secure ? 465 : 587) : Number(url.port),
    secure,
    // An attacker in between can remove the STARTTLS offer. They must not obtain a password that way.
    requireTls: !secure && (flag('requireTLS') ?? login !== undefined),
    login,
    name: label('name'),
    tls: {
      ...(rejectUnauthorized === undefined ? {} : { rejectUnauthorized }),
      ...(servername === undefined ? {} : { servername }),
    },
  };
}
