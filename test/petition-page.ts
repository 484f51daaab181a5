import { createHash } from 'node:crypto';
import { type Challenge } from 'altcha-lib/v1/types';
import { type Page } from 'playwright-core';
import { type AcceptedMail, type RedisServer, SmtpServer, startRedis } from '#libs/testing';
import { formToken } from '../src/site/index.js';
import { Api, type Client, retryAfter } from './harness.js';
import { eventually } from './processes.js';

export const PUBLIC_URL = 'https://act.example.org';

/** A published petition and its page. */
export type PetitionPage = { petitionId: string; path: string; client: Client };

/** A form that asks for more than new petitions do. */
const FORM = {
  fields: [
    { field: 'firstName', required: true },
    ...['lastName', 'zip', 'country', 'comment'].map((field) => ({ field, required: false })),
  ],
};

/** Rate limits are a matter of the tests. */
const retryIfBusy = (ask: () => Promise<Response>) => retryAfter(ask, [503]);

export type Sent = { status: number; location: string | null; text: string };

/** Visitors who open pages, submit forms and read their email. */
export class Public {
  private constructor(
    readonly api: Api,
    readonly mail: SmtpServer,
    private readonly redis: RedisServer,
  ) {}

  /** Starts instances with background workers and a mail server. X-Forwarded-For sets a client's address. */
  static async start({ instances = 1, environment = {} } = {}): Promise<Public> {
    const mail = await SmtpServer.start({ keepContent: true });
    const redis = await startRedis();
    const api = await Api.start({
      instances,
      environment: { MAIL_URL: mail.url, REDIS_URL: redis.url, PUBLIC_URL, TRUST_PROXY: '1', ...environment },
    });
    for (const { workers } of api.instances) workers.start();
    return new Public(api, mail, redis);
  }

  async stop(): Promise<void> {
    await this.api.stop();
    await this.mail.stop();
    await this.redis.stop();
  }

  /** Publishes a petition. @param fields of the petition */
  async petition(fields: object = {}, client?: Client): Promise<PetitionPage> {
    const whose = client ?? (await this.api.organization());
    const { petitionId } = await call(whose, 'petition.create-petition', {
      name: 'Save the river',
      ...('formFields' in fields ? {} : { form: FORM }),
      ...fields,
    });
    const { url } = await call(whose, 'petition.publish-petition', { petitionId });
    return { petitionId, path: new URL(url as string).pathname, client: whose };
  }

  /** The token of a form that was opened this many seconds ago. */
  token(petitionId: string, secondsAgo = 60): string {
    return tokenOf(this.api, petitionId, secondsAgo);
  }

  async get(path: string, headers: Record<string, string> = { Accept: 'text/html' }) {
    const response = await retryIfBusy(() => fetch(this.api.origin + path, { headers, redirect: 'manual' }));
    const { status } = response;
    return {
      status,
      headers: response.headers,
      location: response.headers.get('location'),
      text: await response.text(),
    };
  }

  /** Submits the form. @param more fields of the form. `from`: the client's address. `at`: the instance. */
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
    const response = await retryIfBusy(() =>
      fetch(this.api.instances[at]!.origin + path, {
        method: 'POST',
        body: new URLSearchParams(form),
        redirect: 'manual',
        headers: { Accept: 'text/html', 'X-Forwarded-For': from },
      }),
    );
    return {
      status: response.status,
      location: response.headers.get('location'),
      text: await response.text(),
    };
  }

  /** Signs and confirms. @returns the path of the thank-you page. */
  async signAndConfirm(page: PetitionPage, email: string, more = {}): Promise<string> {
    expect((await this.sign(page, { email, ...more })).status).toBe(200);
    const path = await this.linkTo(email);
    expect(await this.post(path, {})).toMatchObject({ status: 303, location: path });
    return path;
  }

  /** The emails to an address so far, oldest first. */
  mailsTo(address: string): AcceptedMail[] {
    return this.mail.accepted.filter(({ to }) => to === address);
  }

  /** Waits for the n-th email to an address, and returns the path of its link. */
  async linkTo(address: string, n = 1): Promise<string> {
    await eventually(() => expect(this.mailsTo(address).length).toBeGreaterThanOrEqual(n));
    return linkIn(this.mailsTo(address)[n - 1]!);
  }
}

function tokenOf(api: Api, petitionId: string, secondsAgo: number): string {
  const { keyring } = api.instances[0]!.runtime.store;
  return formToken(keyring, petitionId, new Date(Date.now() - secondsAgo * 1_000));
}

/** Makes a form look a minute old, because forms submitted within two seconds are treated as automated. */
export async function ageForm(tab: Pick<Page, 'locator'>, api: Api, petitionId: string): Promise<void> {
  const field = tab.locator('input[name=token]');
  await field.evaluate(
    (element, token) => element.setAttribute('value', token),
    tokenOf(api, petitionId, 60),
  );
}

/** The path of the link to confirm, or of the personal link to sign. */
export function linkIn({ content = '' }: AcceptedMail, to: 'confirm' | 'sign' = 'confirm'): string {
  const whole = content.replace(/=\r?\n/g, '').replaceAll('=3D', '=');
  const [, path] = new RegExp(`https://act\\.example\\.org(/\\S*/${to}/[\\w-]+)`).exec(whole) ?? [];
  if (path === undefined) throw new Error(`This email has no link to ${to}.`);
  return path;
}

export async function call(client: Client, operation: string, input: object): Promise<any> {
  const { status, body } = await client.post(operation, input);
  expect([operation, status, body.error]).toEqual([operation, 200, undefined]);
  return body.data;
}

/** A random address, so that each visitor has their own network. */
export function randomAddress(): string {
  const part = () => Math.floor(Math.random() * 256);
  return `10.${part()}.${part()}.${part()}`;
}

/** The `altcha` field for a challenge. Computes the hashes at once, ten times as fast as a browser. */
export function proofOfWork(task: Challenge): string {
  const isNumber = (number: number) =>
    createHash('sha256').update(`${task.salt}${number}`).digest('hex') === task.challenge;
  let number = 0;
  while (number <= (task.maxnumber ?? 0) && !isNumber(number)) number += 1;
  return Buffer.from(JSON.stringify({ ...task, number })).toString('base64');
}
