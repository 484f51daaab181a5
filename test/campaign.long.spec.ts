import { type RedisServer, SmtpServer, startRedis } from '#libs/testing';
import { formToken } from '../src/site/index.js';
import { type Client, retryAfter } from './harness.js';
import { call, linkIn, PUBLIC_URL, randomAddress } from './petition-page.js';
import { Deployment, eventually, inParallel, type ServerProcess } from './processes.js';

const PEOPLE = 200;
const BOTS = 10_000;
const AT_A_TIME = 16;

let deployment: Deployment;
let mail: SmtpServer;
let redis: RedisServer;
let servers: [ServerProcess, ServerProcess];
let client: Client;
beforeAll(async () => {
  [deployment, mail, redis] = await Promise.all([
    Deployment.create(),
    SmtpServer.start({ keepContent: true }),
    startRedis(),
  ]);
  servers = await Promise.all([start(), start()]);
});
beforeEach(async () => {
  mail.accepted.splice(0);
  const whose = await deployment.organization();
  client = whose.at(servers[1].origin);
  await eventually(async () => expect((await client.get('list.list-lists')).status).toBe(200));
  await call(client, 'organization.update-organization', {
    mailFrom: { name: 'Rivers', address: 'news@rivers.example.org' },
  });
});
afterAll(async () => {
  await deployment.stop();
  await Promise.all([mail.stop(), redis.stop()]);
});

const start = () =>
  deployment.startServer({
    ...{ MAIL_URL: mail.url, REDIS_URL: redis.url, PUBLIC_URL, TRUST_PROXY: '1' },
    MAIL_CONCURRENCY: '20',
  });
const sql = <Row>(text: string, values: unknown[] = []) =>
  deployment.database.source.query<Row[]>(text, values);

/** Only bounds a failure. */
const MOST_MS = 600_000 + BOTS * 300;

/** A petition or a form, and its page. */
type Target = { kind: 'petition' | 'form'; id: string; path: string };
type Sent = { status: number; location: string | null; text: string };

async function publish(): Promise<{ petition: Target; form: Target }> {
  const { petitionId } = await call(client, 'petition.create-petition', {
    name: 'Save the river',
    thankYouMail: { subject: 'Thank you', content: 'It counts.' },
  });
  const { url } = await call(client, 'petition.publish-petition', { petitionId });
  const { formId } = await call(client, 'form.create-form', { name: 'Newsletter' });
  const { body } = await client.get('form.get-form', { formId });
  return {
    petition: { kind: 'petition', id: petitionId, path: new URL(url as string).pathname },
    form: { kind: 'form', id: formId, path: new URL(body.data.url as string).pathname },
  };
}

/** Sends a request to an instance, and to the other one if that instance is dead, like a load balancer. */
async function visit(n: number, path: string, form?: object, from = randomAddress()): Promise<Sent> {
  const ask = async ({ origin }: ServerProcess) => {
    const answer = await fetch(origin + path, {
      ...(form === undefined
        ? {}
        : { method: 'POST', body: new URLSearchParams(form as Record<string, string>) }),
      redirect: 'manual',
      headers: { Accept: 'text/html', 'X-Forwarded-For': from },
    });
    const { status, headers } = answer;
    return { status, headers, location: headers.get('location'), text: await answer.text() };
  };
  const [first, second] = n % 2 === 0 ? servers : servers.toReversed();
  return retryAfter(() => ask(first!).catch(() => ask(second!)), [503]);
}

const tokenOf = ({ id }: Target, secondsAgo = 60) =>
  formToken(deployment.store.keyring, id, new Date(Date.now() - secondsAgo * 1_000));
/** Presses the button of a page's form, as if the page had been opened a minute ago. */
const press = (n: number, target: Target, typed: object, from?: string) =>
  visit(n, `${target.path}/sign`, { token: tokenOf(target), firstName: 'Ada', ...typed }, from);

/** Opens the emailed link and presses the button. @returns the path of the page that thanks. */
async function confirm(n: number, { path }: Target, email: string): Promise<string> {
  const links = () =>
    mail.accepted.flatMap((one) =>
      one.to === email && /^Message-ID:\s*<(?:signature|sign-up)\./im.test(one.content!) ? [linkIn(one)] : [],
    );
  const isOfTarget = (link: string) => link.startsWith(`${path}/`);
  await eventually(() => expect(links().some(isOfTarget)).toBe(true), 180);
  const link = links().find(isOfTarget)!;
  const { text } = await visit(n, link);
  const [, request = ''] = /name="request" value="([^"]+)"/.exec(text) ?? [];
  expect(await visit(n + 1, link, { request })).toMatchObject({ status: 303, location: link });
  return link;
}

/** A signature and a sign-up by the same person. Each response is one on which they rely. */
async function walk(n: number, petition: Target, form: Target, via: string): Promise<void> {
  // A mailbox gets three emails a day, over all petitions.
  const email = `person-${n}@${petition.id}.example.org`;
  expect((await visit(n, `${petition.path}?via=${via}&source=share`)).text).toContain(`value="${via}"`);
  expect((await press(n + 1, petition, { email, via, source: 'share' })).status).toBe(200);
  expect((await press(n, form, { email, subscribe: 'yes' })).status).toBe(200);
  await confirm(n + 1, form, email);
  await confirm(n, petition, email);
}

async function counted({ kind, id }: Target): Promise<number> {
  const { data } = (await client.get(`${kind}.get-${kind}`, { [`${kind}Id`]: id })).body;
  return data[kind === 'petition' ? 'signatures' : 'submissions'];
}
const thanks = () =>
  mail.accepted.flatMap(({ content }) => /^Message-ID:\s*<thanks\.([\w-]+)/im.exec(content!)?.[1] ?? []);
const eventsOf = async (type: string) => {
  const [row] = await sql<{ count: number }>(
    'SELECT count(*)::int AS count FROM events WHERE organization_id = $1 AND type = $2',
    [client.organizationId, type],
  );
  return row!.count;
};

it(`${PEOPLE} people sign and sign up by a share link while an instance is killed: each counts once, and is thanked at most once`, async () => {
  const { petition, form } = await publish();
  expect((await press(0, petition, { email: 'recruiter@example.org' })).status).toBe(200);
  const { text } = await visit(1, await confirm(0, petition, 'recruiter@example.org'));
  const [, via = ''] = /\?via=([\w-]{32})/.exec(text) ?? [];
  const killed = servers[0];
  await inParallel(PEOPLE, AT_A_TIME, async (n) => {
    if (n === PEOPLE / 2) killed.send('SIGKILL');
    await walk(n, petition, form, via);
  });
  expect((await killed.ended).signal).toBe('SIGKILL');
  servers = [await start(), servers[1]];

  const everyone = PEOPLE + 1;
  for (const { origin } of servers) {
    const there = client.at(origin);
    await eventually(async () => expect((await there.get('list.list-lists')).status).toBe(200));
    const { data } = (await there.get('petition.get-petition', { petitionId: petition.id })).body;
    expect(data).toMatchObject({ signatures: everyone, pendingSignatures: 0 });
    const signUps = (await there.get('form.get-form', { formId: form.id })).body.data;
    expect(signUps).toMatchObject({ submissions: PEOPLE, pendingSubmissions: 0 });
  }
  for (const [type, count] of Object.entries({
    SignatureConfirmed: everyone,
    PetitionSigned: everyone,
    SignUpConfirmed: PEOPLE,
    ContactCreated: everyone,
  }))
    expect([type, await eventsOf(type)]).toEqual([type, count]);
  const stats = async () => (await client.get('petition.get-stats', { petitionId: petition.id })).body.data;
  const { recruited, recruiters } = await stats();
  expect({ recruited, recruiters }).toEqual({
    recruited: PEOPLE,
    recruiters: [{ signatureId: expect.any(String), signatures: PEOPLE }],
  });
  expect((await visit(0, `${petition.path}?via=${via}`)).status).toBe(200);

  // What the killed instance was sending is in doubt a minute later.
  await eventually(async () => {
    await sql(
      `UPDATE thank_you_mails SET claimed_at = claimed_at - interval '10 seconds' WHERE status = 'CLAIMED'`,
    );
    await sql('UPDATE subscription_retries SET due_at = clock_timestamp() WHERE due_at > clock_timestamp()');
    const { sent, inDoubt, ...others } = (await stats()).thankYouMails;
    expect({ all: sent + inDoubt, ...others }).toEqual({ all: everyone, waiting: 0, failed: 0, skipped: 0 });
  }, 180);
  await mail.settle();
  const thanked = thanks();
  expect(new Set(thanked).size).toBe(thanked.length);
  const rows = await sql<{ id: string; status: string }>(
    'SELECT signature_id AS id, status FROM thank_you_mails WHERE organization_id = $1',
    [client.organizationId],
  );
  const missing = rows.filter(({ id }) => !thanked.includes(id));
  expect([rows.length, missing.filter(({ status }) => status !== 'IN_DOUBT')]).toEqual([everyone, []]);
});

it(`${PEOPLE} people each send two clicks at once to two instances, one of which is killed: each person counts once`, async () => {
  const { organizationId } = client;
  await call(client, 'organization.update-organization', { postalAddress: '1 Quay' });
  const { petition } = await publish();
  const emails = Array.from({ length: PEOPLE }, (_, n) => `clicks-${n}@${petition.id}.example.org`);
  await inParallel(PEOPLE, AT_A_TIME, async (n) => {
    const person = { organizationId, email: emails[n], firstName: 'Ada', subscribed: true };
    await call(client, 'contact.create-contact', person);
  });
  const { broadcastId } = await call(client, 'broadcast.create-broadcast', {
    name: 'Sign',
    content: '[Sign]({{ petition.signUrl }})',
    audience: { all: true, excludePetitionIds: [petition.id] },
  });
  await call(client, 'broadcast.send-broadcast', { broadcastId });
  const mailTo = (email: string) => mail.accepted.find(({ to }) => to === email);
  await eventually(() => expect(emails.filter((email) => !mailTo(email))).toEqual([]), 180);

  const killed = servers[0];
  await inParallel(PEOPLE, AT_A_TIME, async (n) => {
    if (n === PEOPLE / 2) killed.send('SIGKILL');
    const link = linkIn(mailTo(emails[n]!)!, 'sign');
    // Scanners open links, too.
    expect((await visit(n, link)).text).toContain('Sign as Ada');
    const pressed = await Promise.all([visit(n, link, {}), visit(n + 1, link, {})]);
    expect(pressed.map(({ status }) => status)).toEqual([303, 303]);
  });
  expect((await killed.ended).signal).toBe('SIGKILL');
  servers = [await start(), servers[1]];
  for (const { origin } of servers) {
    const there = client.at(origin);
    await eventually(async () => {
      const { body } = await there.get('petition.get-petition', { petitionId: petition.id });
      expect(body.data).toMatchObject({ signatures: PEOPLE, pendingSignatures: 0 });
    });
  }
  for (const type of ['PetitionSigned', 'ContactCreated'])
    expect([type, await eventsOf(type)]).toEqual([type, PEOPLE]);
});

it(
  `${BOTS.toLocaleString('en')} bots sign and sign up among ${PEOPLE} people: no bot counts, and no one else is rejected`,
  async () => {
    const { petition, form } = await publish();
    const network = '2001:db8:1:2::';
    const bot = async (n: number) => {
      const [target, other] = Math.floor(n / 10) % 2 === 0 ? [petition, form] : [form, petition];
      const plausible = { email: `bot-${n}@example.com`, subscribe: 'yes' };
      const ways: (() => Promise<Sent>)[] = [
        () => press(n, target, plausible),
        () => press(n, target, { ...plausible, website: 'https://spam.example' }),
        () => press(n, target, plausible, `${network}${n.toString(16)}`),
        () => press(n, target, { ...plausible, email: `one+${n}@example.com` }),
        () => press(n, target, { ...plausible, email: 'same@example.com' }, `${network}${n.toString(16)}`),
        () => press(n, target, { ...plausible, token: tokenOf(target, 0) }),
        () => press(n, target, { ...plausible, token: tokenOf(target, 25 * 3_600) }),
        () => press(n, target, { ...plausible, token: tokenOf(other) }),
        () => press(n, target, { ...plausible, firstName: `Buy https://spam.example/${n}` }),
        // Guesses the link to confirm.
        () => visit(n, `${target.path}/confirm/${Buffer.alloc(48, n).toString('base64url')}`, {}),
      ];
      const way = n % ways.length;
      return `${way} ${(await ways[way]!()).status}`;
    };
    const statuses = new Set<string>();
    const honest: Promise<void>[] = [];
    await inParallel(BOTS, AT_A_TIME, async (n) => {
      const every = BOTS / PEOPLE;
      if (n % every === 0) honest.push(walk(n / every, petition, form, ''));
      statuses.add(await bot(n));
    });
    await Promise.all(honest);
    expect([await counted(petition), await counted(form)]).toEqual([PEOPLE, PEOPLE]);
    expect(await eventsOf('ContactCreated')).toBe(PEOPLE);
    // On a busy machine, the form that was just opened arrives after two seconds, and is accepted.
    expect([...statuses].filter((status) => status !== '5 200').toSorted()).toEqual([
      // A network may send 500 forms an hour for one petition or form.
      ...['0 200', '1 200', '2 200', '2 429', '3 200', '4 200', '4 429'],
      ...['5 422', '6 422', '7 422', '8 200', '9 404'],
    ]);
    await mail.settle();
    const ids = new Map<string, Set<string>>();
    for (const { to, content } of mail.accepted) {
      const mailbox = to.replace(/\+[^@]*/, '');
      // An email that timed out is sent again with the same id.
      ids.set(mailbox, (ids.get(mailbox) ?? new Set()).add(/^Message-ID:\s*(\S+)/im.exec(content!)![1]!));
    }
    expect([...ids].filter(([, { size }]) => size > 3)).toEqual([]);
  },
  MOST_MS,
);
