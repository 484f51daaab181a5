import { randomUUID } from 'node:crypto';
import { type AcceptedMail } from '#libs/testing';
import { type Product, type Client, retryAfter } from './harness.js';
import { call, randomAddress } from './petition-page.js';

type Fields = Record<string, string> | [name: string, value: string][];

/**
 * A simple browser that keeps cookies and sends the origin of forms. It waits when it is told to retry within seconds, because
 * a test sends in one second what a person sends in minutes, on a fast machine more than the rate limit allows.
 */
export class Visitor {
  private cookies = new Map<string, string>();

  constructor(
    readonly origin: string,
    private readonly language = 'en',
    /** The address for servers that trust their proxy: by default a random one, or null on the machine itself. */
    private readonly address: string | null = randomAddress(),
    private readonly isPatient = true,
  ) {}

  get cookie(): string {
    return [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  }

  set cookie(text: string) {
    const pairs = text === '' ? [] : text.split('; ');
    this.cookies = new Map(pairs.map((pair) => pair.split('=', 2) as [string, string]));
  }

  /** The same person on another instance or with another language. */
  at(origin: string, language = this.language): Visitor {
    const other = new Visitor(origin, language, this.address);
    other.cookie = this.cookie;
    return other;
  }

  /** The same person on the server's own machine. */
  here(): Visitor {
    const same = new Visitor(this.origin, this.language, null);
    same.cookie = this.cookie;
    return same;
  }

  /** The same person, for tests of the rate limit. */
  impatient(): Visitor {
    const same = new Visitor(this.origin, this.language, this.address, false);
    same.cookie = this.cookie;
    return same;
  }

  get(path: string, headers: Record<string, string> = {}) {
    return this.ask(path, { headers });
  }

  post(path: string, form: Fields = {}, headers: Record<string, string> = {}) {
    return this.ask(path, {
      method: 'POST',
      body: new URLSearchParams(form),
      headers: { Origin: this.origin, 'Sec-Fetch-Site': 'same-origin', ...headers },
    });
  }

  /** Submits a form with a file after its fields. */
  upload(
    path: string,
    file: { field: string; name: string; type: string; content: string | Uint8Array<ArrayBuffer> },
    form: Fields = {},
  ) {
    const body = new FormData();
    for (const [name, value] of new URLSearchParams(form)) body.append(name, value);
    body.append(file.field, new Blob([file.content], { type: file.type }), file.name);
    return this.ask(path, {
      method: 'POST',
      body,
      headers: { Origin: this.origin, 'Sec-Fetch-Site': 'same-origin' },
    });
  }

  private ask(path: string, init: RequestInit) {
    const ask = () => this.askOnce(path, init);
    return this.isPatient ? retryAfter(ask) : ask();
  }

  private async askOnce(path: string, { headers, ...init }: RequestInit) {
    const response = await fetch(this.origin + path, {
      ...init,
      redirect: 'manual',
      headers: {
        Accept: 'text/html',
        ...(this.address === null ? {} : { 'X-Forwarded-For': this.address }),
        'Accept-Language': this.language,
        'User-Agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
        ...(this.cookie === '' ? {} : { Cookie: this.cookie }),
        ...headers,
      },
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === '') this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    return {
      status: response.status,
      location: response.headers.get('location'),
      headers: response.headers,
      text: await response.text(),
    };
  }
}

/**
 * Signs in a new member with this role.
 *
 * @param email by default someone new: the rate limit of a person counts across organizations, and so across tests.
 */
export async function signedIn(
  api: Product,
  client: Client,
  role: string,
  email = `${role.toLowerCase()}-${randomUUID()}@example.org`,
): Promise<Visitor> {
  const visitor = new Visitor(api.origin);
  const { status } = await visitor.post(await invitationTo(api, client, role, email));
  expect(status).toBe(303);
  return visitor;
}

/** Invites a person. @returns the path of the link in the invitation. */
export async function invitationTo(
  api: Product,
  client: Client,
  role: string,
  email: string,
): Promise<string> {
  const { organizationId } = client;
  const { invitationId } = await call(client, 'team.invite-member', { email, role });
  return new URL(await api.invitationUrl(organizationId, invitationId)).pathname;
}

/** The path of the sign-in link or invitation in an email. */
export function linkTo({ content = '' }: AcceptedMail): string {
  const whole = content.replace(/=\r?\n/g, '').replaceAll('=3D', '=');
  const [, path] = /https?:\/\/[^/\s]+(\/dashboard\/\S+)/.exec(whole) ?? [];
  if (path === undefined) throw new Error('This email has no link to the dashboard.');
  return path;
}

/** Accepts an invitation without a browser. */
export async function acceptInvitation(
  api: Product,
  { organizationId }: Client,
  invitationId: string,
): Promise<void> {
  await api.run('AcceptInvitation', organizationId, { invitationId });
}
