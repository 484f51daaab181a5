import { domainToASCII } from 'node:url';

/** What `MAIL_URL` says. */
export type MailServer = {
  host: string;
  port: number;
  /** TLS from the first byte, rather than by STARTTLS. */
  secure: boolean;
  /** Nothing is sent before STARTTLS has succeeded. */
  requireTls: boolean;
  login: { user: string; password: string } | undefined;
  /** As which we greet the server; undefined: the machine's name. */
  name: string | undefined;
  tls: { rejectUnauthorized?: boolean; servername?: string };
};

/** Forms of the URL, for whoever has to write one. */
export const MAIL_URL_FORMS =
  'smtp://[user:password@]host[:port] (port 587, STARTTLS where the server offers it) or smtps://[user:password@]host[:port] ' +
  '(port 465, TLS from the beginning)';

/** What is wrong with it, in words that do not repeat it: it may hold a password. */
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
    throw new WrongMailUrl('It is no URL; special characters in user and password must be percent-encoded.');
  }
  if (!['smtp:', 'smtps:'].includes(url.protocol))
    throw new WrongMailUrl('It must begin with smtp:// or smtps://.');
  const host = hostname.startsWith('[') ? hostname : domainToASCII(hostname) || hostname;
  if (!HOST.test(host)) throw new WrongMailUrl('It names no host.');
  if (!['', '/'].includes(url.pathname) || url.hash !== '') {
    throw new WrongMailUrl(
      'Nothing but options may follow the host; / and # in a password must be percent-encoded.',
    );
  }
  if ((user === '') !== (password === ''))
    throw new WrongMailUrl('It must have both user and password, or neither.');
  if (CONTROL.test(user + password))
    throw new WrongMailUrl('User and password must have no control characters.');

  const options = url.searchParams;
  const unknown = [...options.keys()].find((key) => !OPTIONS.includes(key));
  if (unknown !== undefined) throw new WrongMailUrl(`The options that there are: ${OPTIONS.join(', ')}.`);
  const flag = (name: string) => {
    const value = options.get(name) ?? undefined;
    if (![undefined, 'true', 'false'].includes(value))
      throw new WrongMailUrl(`${name} must be true or false.`);
    return value === undefined ? undefined : value === 'true';
  };
  const label = (name: string) => {
    const value = options.get(name) ?? undefined;
    if (value !== undefined && !HOST.test(value))
      throw new WrongMailUrl(`${name} must be the name of a host.`);
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
    // Whoever stands in between can take the offer of STARTTLS away: a password is not to be had that way.
    requireTls: !secure && (flag('requireTLS') ?? login !== undefined),
    login,
    name: label('name'),
    tls: {
      ...(rejectUnauthorized === undefined ? {} : { rejectUnauthorized }),
      ...(servername === undefined ? {} : { servername }),
    },
  };
}
