import { type Page } from 'playwright-core';
import { type AcceptedMail, type RedisServer, SmtpServer, startRedis } from '#libs/testing';
import { formToken } from '../src/site/index.js';
import { Api, type Client } from './harness.js';
import { eventually } from './processes.js';

export const PUBLIC_URL = 'https://act.example.org';

/** A petition that is published, and its page. */
export type PetitionPage = { petitionId: string; path: string; client: Client };

export type Sent = { status: number; location: string | null; text: string };

/** People who open pages, fill in forms and read their mail. */
export class Public {
  private constructor(
    readonly api: Api,
    readonly mail: SmtpServer,
    private readonly redis: RedisServer,
  ) {}

  /** Servers of which the first reacts, with a mail server; a client's address is what X-Forwarded-For says. */
  static async start({ instances = 1, environment = {} } = {}): Promise<Public> {
    const mail = await SmtpServer.start({ keepContent: true });
    const redis = await startRedis();
    const api = await Api.start({
      instances,
      environment: { MAIL_URL: mail.url, REDIS_URL: redis.url, PUBLIC_URL, TRUST_PROXY: '1', ...environment },
    });
    for (const { reactions } of api.instances) reactions.start();
    return new Public(api, mail, redis);
  }

  async stop(): Promise<void> {
    await this.api.stop();
    await this.mail.stop();
    await this.redis.stop();
  }

  /** @param fields of the petition. */
  async petition(fields: object = {}, client?: Client): Promise<PetitionPage> {
    const whose = client ?? (await this.api.organization());
    const { petitionId } = await call(whose, 'petition.create-petition', {
      name: 'Save the river',
      ...fields,
    });
    const { url } = await call(whose, 'petition.publish-petition', { petitionId });
    return { petitionId, path: new URL(url as string).pathname, client: whose };
  }

  /** A token as a form that was shown so many seconds ago has it. */
  token(petitionId: string, secondsAgo = 60): string {
    return tokenOf(this.api, petitionId, secondsAgo);
  }

  async get(path: string, headers: Record<string, string> = { Accept: 'text/html' }) {
    const response = await fetch(this.api.origin + path, { headers, redirect: 'manual' });
    const { status } = response;
    return {
      status,
      headers: response.headers,
      location: response.headers.get('location'),
      text: await response.text(),
    };
  }

  /** Sends the form. @param more of it; `from` the client's address; `at` the instance. */
  async sign(
    { path, petitionId }: PetitionPage,
    more: Record<string, string> = {},
    { from = randomAddress(), at = 0 } = {},
  ): Promise<Sent> {
    const form = { token: this.token(petitionId), firstName: 'Ada', email: 'ada@example.org', ...more };
    return this.post(`${path}/sign`, form, { from, at });
  }

  async post(
    path: string,
    form: Record<string, string>,
    { from = randomAddress(), at = 0 } = {},
  ): Promise<Sent> {
    const response = await fetch(this.api.instances[at]!.origin + path, {
      method: 'POST',
      body: new URLSearchParams(form),
      redirect: 'manual',
      headers: { Accept: 'text/html', 'X-Forwarded-For': from },
    });
    return {
      status: response.status,
      location: response.headers.get('location'),
      text: await response.text(),
    };
  }

  /** The mails to an address so far, the first ones first. */
  mailsTo(address: string): AcceptedMail[] {
    return this.mail.accepted.filter(({ to }) => to === address);
  }

  /** The path of the link in the n-th mail to an address, once it is there. */
  async linkTo(address: string, n = 1): Promise<string> {
    await eventually(() => expect(this.mailsTo(address).length).toBeGreaterThanOrEqual(n));
    return linkIn(this.mailsTo(address)[n - 1]!);
  }
}

function tokenOf(api: Api, petitionId: string, secondsAgo: number): string {
  const { keyring } = api.instances[0]!.runtime.store;
  return formToken(keyring, petitionId, new Date(Date.now() - secondsAgo * 1_000));
}

/** As if the form had been shown a minute ago: one that is sent within two seconds is taken for a machine's. */
export async function ageForm(tab: Page, api: Api, petitionId: string): Promise<void> {
  const field = tab.locator('input[name=token]');
  await field.evaluate(
    (element, token) => element.setAttribute('value', token),
    tokenOf(api, petitionId, 60),
  );
}

/** The path of the link that confirms. */
export function linkIn({ content = '' }: AcceptedMail): string {
  const whole = content.replace(/=\r?\n/g, '').replaceAll('=3D', '=');
  const [, path] = /https:\/\/act\.example\.org(\/\S*\/confirm\/[\w-]+)/.exec(whole) ?? [];
  if (path === undefined) throw new Error('There is no link to confirm in this mail.');
  return path;
}

export async function call(client: Client, operation: string, input: object): Promise<any> {
  const { status, body } = await client.post(operation, input);
  expect([operation, status, body.error]).toEqual([operation, 200, undefined]);
  return body.data;
}

/** Each person has a network of their own. */
export function randomAddress(): string {
  const part = () => Math.floor(Math.random() * 256);
  return `10.${part()}.${part()}.${part()}`;
}
