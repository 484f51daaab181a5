import { setTimeout as sleep } from 'node:timers/promises';
import { SmtpServer } from '#libs/testing';
import { type Client } from './harness.js';
import { Deployment, eventually, type ServerProcess } from './processes.js';
import { longDescribe, longIt } from './length.js';
import { linkIn } from './petition-page.js';

/** The number of recipients. BROADCAST_RECIPIENTS sets it. */
const RECIPIENTS = Number(process.env.BROADCAST_RECIPIENTS ?? 300);
const CONCURRENCY = 5;

let deployment: Deployment;
let client: Client;
let mail: SmtpServer;
beforeAll(async () => {
  deployment = await Deployment.create();
  mail = await SmtpServer.start({ keepContent: true });
});
beforeEach(async () => {
  client = await deployment.organization();
  await mail.behave({});
  mail.accepted.splice(0);
});
afterAll(async () => {
  await deployment.stop();
  await mail.stop();
});

/** The servers that keep running between tests. */
const running: ServerProcess[] = [];
let variables: Record<string, string> = {};
async function start(): Promise<ServerProcess> {
  const server = await deployment.startServer({
    MAIL_URL: mail.url,
    MAIL_CONCURRENCY: String(CONCURRENCY),
    PUBLIC_URL: 'https://act.example.org',
    ...variables,
  });
  running.push(server);
  void server.exited.then(() => running.splice(running.indexOf(server), 1));
  return server;
}
async function killAll(): Promise<void> {
  await Promise.all(running.map((server) => server.end('SIGKILL')));
}
/** At least this many servers with these variables, ready to accept the organization's key. */
async function serversWith(count: number, more: Record<string, string> = {}): Promise<ServerProcess[]> {
  if (JSON.stringify(more) !== JSON.stringify(variables)) await killAll();
  variables = more;
  await Promise.all(Array.from({ length: count - running.length }, start));
  for (const { origin } of running) {
    await eventually(async () => expect((await client.at(origin).get('list.list-lists')).status).toBe(200));
  }
  return [...running];
}
const serverWith = async (more?: Record<string, string>) => (await serversWith(1, more))[0]!;
const twoServers = async () => (await serversWith(2)) as [ServerProcess, ServerProcess];
const sql = <Row>(text: string, values: unknown[] = []) =>
  deployment.database.source.query<Row[]>(text, values);

async function call(server: ServerProcess, operation: string, input: object) {
  const { status, body } = await client.at(server.origin).post(operation, input);
  expect([operation, status, body.error]).toEqual([operation, 200, undefined]);
  return body.data;
}

/** A broadcast to a list of new contacts. */
async function newBroadcast(server: ServerProcess, people: number): Promise<string> {
  await call(server, 'organization.update-organization', {
    mailFrom: { name: 'Rivers', address: 'news@rivers.example.org' },
    postalAddress: '1 Quay',
  });
  const { listId } = await call(server, 'list.create-list', { name: `The first ${people}` });
  const lines = Array.from({ length: people }, (_, n) =>
    JSON.stringify({ email: `person-${n}@example.org` }),
  );
  const { status } = await client
    .at(server.origin)
    .request('POST', `/v1/contact.import-contacts?listId=${listId}&subscribed=true`, lines.join('\n'), {
      'Content-Type': 'application/x-ndjson',
    });
  expect(status).toBe(200);
  const { broadcastId } = await call(server, 'broadcast.create-broadcast', {
    name: `News for ${people}`,
    content: 'Dear {{ contact.firstName | default: "friend" }}',
    audience: { listIds: [listId] },
  });
  return broadcastId;
}

const status = async (server: ServerProcess, broadcastId: string) =>
  (await client.at(server.origin).get('broadcast.get-broadcast', { broadcastId })).body.data;
/** The recipients' rows by address. */
async function rows(): Promise<Map<string, { status: string; holder: string | null }>> {
  const [{ schema }] = (await sql<{ schema: string }>(
    `SELECT table_schema AS schema FROM information_schema.tables WHERE table_name = 'contacts'`,
  )) as [{ schema: string }];
  const found = await sql<{ email: string; status: string; holder: string | null }>(
    `SELECT c.email, r.status, r.holder FROM broadcast_recipients r JOIN ${schema}.contacts c ON c.id = r.contact_id
     WHERE c.organization_id = $1`,
    [client.organizationId],
  );
  return new Map(found.map(({ email, ...row }) => [email, row]));
}
const settled = async () => {
  const [row] = await sql<{ count: number }>(
    `SELECT count(*)::int FROM broadcast_recipients r JOIN broadcast_sendings s ON s.id = r.sending_id
     WHERE s.organization_id = $1 AND r.status NOT IN ('PENDING', 'CLAIMED')`,
    [client.organizationId],
  );
  return row!.count;
};
/** Waits until the instances have noticed that the mail server is unavailable. */
const mailIsMissed = () =>
  eventually(async () => {
    const [sending] = await sql<{ waits_for: string | null }>(
      'SELECT waits_for FROM broadcast_sendings WHERE organization_id = $1',
      [client.organizationId],
    );
    expect(sending!.waits_for).toEqual(expect.any(String));
  });
const until = (count: number) =>
  eventually(async () => expect(await settled()).toBeGreaterThanOrEqual(count));
const addressesWith = (all: Map<string, { status: string }>, ...statuses: string[]) =>
  [...all].flatMap(([email, row]) => (statuses.includes(row.status) ? [email] : [])).toSorted();

longDescribe('a slow mail server', () => {
  it.each([
    ['greets slowly', {}, { greetingDelay: 1_000 }],
    ['accepts two messages per second', { MAIL_RATE: '2' }, {}],
  ])('sends the last messages of a broadcast if it %s', async (_, more, behaviour) => {
    const server = await serverWith(more);
    const broadcastId = await newBroadcast(server, 4);
    // Existing connections would not see a greeting.
    await mail.stop();
    await mail.start();
    await mail.behave(behaviour);
    await call(server, 'broadcast.send-broadcast', { broadcastId });
    await eventually(async () => expect((await status(server, broadcastId)).status).toBe('SENT'));
    await mail.settle();
    expect(mail.accepted).toHaveLength(4);
  });
});

longIt('waits and logs while the mail server is unavailable, and loses no message', async () => {
  const server = await serverWith();
  const from = server.log.length;
  const broadcastId = await newBroadcast(server, 30);
  await mail.stop();
  await call(server, 'broadcast.send-broadcast', { broadcastId });
  await mailIsMissed();
  const logged = () =>
    server.log
      .slice(from)
      .filter(({ message }) => message === 'the mail server is unavailable: broadcasts are waiting');
  await eventually(() => expect(logged()).toHaveLength(1));
  await mail.start();
  await eventually(async () => expect((await status(server, broadcastId)).status).toBe('SENT'), 60);
  await mail.settle();
  expect(mail.accepted).toHaveLength(30);
  expect((await status(server, broadcastId)).recipients).toMatchObject({ sent: 30, failed: 0, inDoubt: 0 });
});

longIt(
  'gives up on an address at which the mail server disconnects, without delaying others, even if it is the last one',
  async () => {
    const server = await serverWith();
    const [broadcastId, single] = [await newBroadcast(server, 20), await newBroadcast(server, 1)];
    await mail.behave({ dreads: 'person-3@example.org' });
    await call(server, 'broadcast.send-broadcast', { broadcastId });
    await until(19);
    const giveUp = (id: string) =>
      // Retries would take hours. An attempt in flight writes its own count afterwards, so this repeats.
      eventually(async () => {
        await sql(
          `UPDATE broadcast_recipients SET attempts = 7, due_at = clock_timestamp() WHERE attempts > 0 AND status = 'PENDING'`,
        );
        expect((await status(server, id)).status).toBe('SENT');
      });
    await giveUp(broadcastId);
    expect((await status(server, broadcastId)).recipients).toMatchObject({ sent: 19, failed: 1, inDoubt: 0 });

    await mail.behave({ dreads: 'person-0@example.org' });
    await call(server, 'broadcast.send-broadcast', { broadcastId: single });
    await giveUp(single);
    expect((await status(server, single)).recipients).toMatchObject({ sent: 0, failed: 1, inDoubt: 0 });
  },
);

longIt(
  'pausing and cancelling take effect on every instance: only in-flight messages are still sent',
  async () => {
    const [one, other] = await twoServers();
    const broadcastId = await newBroadcast(one, 100);
    const { organizationId } = client;
    const email = 'another@example.org';
    const { contactId } = await call(one, 'contact.create-contact', { organizationId, email });
    const second = { name: 'Another', content: 'Hello', audience: { contactIds: [contactId] } };
    const { broadcastId: secondId } = await call(one, 'broadcast.create-broadcast', second);
    const accepted = async () => {
      await mail.settle();
      return mail.accepted.filter(({ to }) => to !== email).length;
    };
    // The mail server holds the messages in flight, so that the pause comes in the middle.
    await mail.behave({ holds: 'end' });
    await call(one, 'broadcast.send-broadcast', { broadcastId });
    await mail.reaches('end');
    await call(other, 'broadcast.pause-broadcast', { broadcastId });
    await mail.behave({});
    await eventually(async () => expect(addressesWith(await rows(), 'CLAIMED')).toEqual([]));
    const then = await accepted();
    expect(then).toBeLessThan(100);
    // Another broadcast is sent while this one is paused.
    await call(one, 'broadcast.send-broadcast', { broadcastId: secondId });
    await eventually(async () => expect((await status(one, secondId)).status).toBe('SENT'));
    expect(await accepted()).toBe(then);
    await mail.behave({ holds: 'end' });
    await call(other, 'broadcast.resume-broadcast', { broadcastId });
    await mail.reaches('end');
    // The mail server accepts the held messages and holds the next ones.
    await mail.behave({ holds: 'end' });
    await mail.reaches('end');
    await call(one, 'broadcast.cancel-broadcast', { broadcastId });
    await mail.behave({});
    await eventually(async () => expect(addressesWith(await rows(), 'CLAIMED', 'PENDING')).toEqual([]));
    const sent = await accepted();
    const { recipients } = await status(other, broadcastId);
    expect(recipients).toMatchObject({ total: 100, sent, skipped: 100 - sent, inDoubt: 0 });
    expect(sent).toBeGreaterThan(then);
    expect(sent).toBeLessThan(100);
  },
);

it('marks messages as in doubt if the process crashed while the mail server accepted them, and does not resend them', async () => {
  const first = await serverWith();
  const broadcastId = await newBroadcast(first, 1);
  await mail.behave({ holds: 'end' });
  await call(first, 'broadcast.send-broadcast', { broadcastId });
  await mail.reaches('end');
  await killAll();
  // The mail server has the whole message and accepts it.
  await mail.behave({});
  const second = await serverWith();
  // Declares the killed processes dead without waiting.
  await deployment.database.source.query(`UPDATE broadcast_senders SET alive_until = '-infinity'`);
  await eventually(async () => expect((await status(second, broadcastId)).status).toBe('SENT'));
  await mail.settle();
  expect([...mail.addresses.values()]).toEqual([1]);
  expect((await status(second, broadcastId)).recipients).toMatchObject({ total: 1, sent: 0, inDoubt: 1 });
});

it('marks messages as in doubt if the mail server disconnects after it accepted them, and does not resend them', async () => {
  const server = await serverWith();
  const [broadcastId, next] = [await newBroadcast(server, 1), await newBroadcast(server, 2)];
  await mail.behave({ cut: 'end' });
  await call(server, 'broadcast.send-broadcast', { broadcastId });
  await eventually(async () => {
    expect((await status(server, broadcastId)).recipients).toMatchObject({ total: 1, sent: 0, inDoubt: 1 });
  });
  await mail.behave({});
  await call(server, 'broadcast.send-broadcast', { broadcastId: next });
  await eventually(async () => expect((await status(server, next)).status).toBe('SENT'));
  await mail.settle();
  // The first person got each email once.
  expect([...mail.addresses.values()]).toEqual([2, 1]);
  expect((await status(server, broadcastId)).status).toBe('SENT');
});

longIt(
  'sends no message twice if processes or the mail server crash, and reports each missing one as failed or in doubt',
  async () => {
    const servers = await serversWith(3);
    const broadcastId = await newBroadcast(servers[0]!, RECIPIENTS);
    await mail.behave({
      refuses: {
        mail: { codes: [421, 450], share: 0.02 },
        rcpt: { codes: [450, 550], share: 0.03 },
        end: { codes: [421, 450, 550], share: 0.02 },
      },
      delay: 5,
    });
    await call(servers[0]!, 'broadcast.send-broadcast', { broadcastId });
    for (const n of [0, 1, 2]) {
      await until(Math.floor((RECIPIENTS * (n + 1)) / 6));
      await servers[n]!.end('SIGKILL');
      servers[n] = await start();
    }
    await until(Math.floor((RECIPIENTS * 2) / 3));
    await mail.stop();
    // The outages take a moment. Nothing is asserted about them: everything may have been sent by then.
    await sleep(500);
    await mail.start();
    await until(Math.floor((RECIPIENTS * 3) / 4));
    mail.freeze();
    await sleep(1_000);
    mail.resume();
    await eventually(async () => expect((await status(servers[0]!, broadcastId)).status).toBe('SENT'), 150);
    await mail.settle();

    const all = await rows();
    expect(all.size).toBe(RECIPIENTS);
    const got = mail.addresses;
    expect([...got].filter(([, times]) => times > 1)).toEqual([]);
    const doubted = addressesWith(all, 'IN_DOUBT');
    const failed = addressesWith(all, 'FAILED');
    expect(addressesWith(all, 'SENT').filter((address) => !got.has(address))).toEqual([]);
    expect(failed.filter((address) => got.has(address))).toEqual([]);
    const missing = [...all.keys()].filter((address) => !got.has(address));
    expect(missing.filter((address) => !doubted.includes(address) && !failed.includes(address))).toEqual([]);
    // Up to three killed servers, and a mail server killed while up to three were sending.
    expect(doubted.length).toBeLessThanOrEqual(6 * CONCURRENCY);
    const { recipients } = await status(servers[1]!, broadcastId);
    expect(recipients).toMatchObject({
      total: RECIPIENTS,
      sent: RECIPIENTS - doubted.length - failed.length,
      failed: failed.length,
      skipped: 0,
      inDoubt: doubted.length,
    });

    for (const one of ['FAILED', 'IN_DOUBT']) {
      await call(servers[1]!, 'broadcast.retry-recipients', { broadcastId, status: one });
      await eventually(async () => expect((await status(servers[0]!, broadcastId)).status).toBe('SENT'), 60);
    }
    await mail.settle();
    expect([...mail.addresses.keys()].toSorted()).toEqual([...all.keys()].toSorted());
    const twice = [...mail.addresses].flatMap(([address, times]) => (times > 1 ? [address] : []));
    expect(twice.filter((address) => !doubted.includes(address))).toEqual([]);
    expect((await status(servers[0]!, broadcastId)).recipients).toMatchObject({
      sent: RECIPIENTS,
      failed: 0,
      inDoubt: 0,
    });
  },
);

longIt('an orderly stop leaves no message in doubt, and the other instances continue', async () => {
  const servers = await twoServers();
  const broadcastId = await newBroadcast(servers[0], 200);
  await mail.behave({ delay: 20 });
  await call(servers[0], 'broadcast.send-broadcast', { broadcastId });
  await until(40);
  const { status: code } = await servers[0].end('SIGTERM');
  expect(code).toBe(0);
  await eventually(async () => expect((await status(servers[1], broadcastId)).status).toBe('SENT'), 60);
  expect((await status(servers[1], broadcastId)).recipients).toMatchObject({
    sent: 200,
    inDoubt: 0,
    failed: 0,
  });
  await mail.settle();
  expect([...mail.addresses].filter(([, times]) => times !== 1)).toEqual([]);
});

longIt('skips contacts who are erased or unsubscribe while their message waits for MAIL_RATE', async () => {
  const server = await serverWith({ MAIL_RATE: '1', MAIL_CONCURRENCY: '10' });
  const broadcastId = await newBroadcast(server, 10);
  await call(server, 'broadcast.send-broadcast', { broadcastId });
  await until(1);
  const { organizationId } = client;
  const { body } = await client.at(server.origin).get('contact.list-contacts', {});
  await Promise.all(
    body.data.map(({ id: contactId }: { id: string }, n: number) =>
      n % 2 === 0
        ? client.at(server.origin).delete('contact.delete-contact', { organizationId, contactId })
        : call(server, 'contact.update-contact', { organizationId, contactId, subscribed: false }),
    ),
  );
  // One message may have been in flight.
  await mail.settle();
  const then = mail.accepted.length + 1;
  await eventually(async () => expect((await status(server, broadcastId)).status).toBe('SENT'));
  await mail.settle();
  expect(mail.accepted.length).toBeLessThanOrEqual(then);
  const { recipients } = await status(server, broadcastId);
  expect(recipients).toMatchObject({ sent: mail.accepted.length, skipped: 10 - mail.accepted.length });
});

longIt('a frozen process settles its claimed messages when it resumes', async () => {
  const [frozen, other] = await twoServers();
  const broadcastId = await newBroadcast(frozen, 200);
  await mail.behave({ delay: 100 });
  await call(frozen, 'broadcast.send-broadcast', { broadcastId });
  await until(20);
  frozen.send('SIGSTOP');
  await eventually(async () => expect((await status(other, broadcastId)).status).toBe('SENT'), 90);
  frozen.send('SIGCONT');
  // It settles the messages that it had sent. The others may no longer be sent, and stay in doubt.
  await eventually(async () => {
    await mail.settle();
    const all = await rows();
    expect(addressesWith(all, 'SENT')).toEqual([...mail.addresses.keys()].toSorted());
    expect(addressesWith(all, 'SENT', 'IN_DOUBT')).toHaveLength(200);
  }, 60);
  expect([...mail.addresses].filter(([, times]) => times > 1)).toEqual([]);
});

longIt(
  '200 people press their personal links on two servers, one of which is killed: each counts once',
  async () => {
    const [one, two] = await twoServers();
    const broadcastId = await newBroadcast(one, 200);
    const { petitionId } = await call(one, 'petition.create-petition', { name: 'Save the lake' });
    await call(one, 'petition.publish-petition', { petitionId });
    const audience = { all: true, excludePetitionIds: [petitionId] };
    const content = '[Sign]({{ petition.signUrl }})';
    await call(one, 'broadcast.update-broadcast', { broadcastId, content, audience });
    await call(one, 'broadcast.send-broadcast', { broadcastId });
    await eventually(async () => expect((await status(one, broadcastId)).status).toBe('SENT'), 60);
    await mail.settle();
    const links = mail.accepted.map((message) => linkIn(message, 'sign'));
    expect(new Set(links).size).toBe(200);

    let counted = 0;
    let killed: Promise<unknown> | undefined;
    /** Presses the button until a server answers. Whether the killed one counted the signature is unknown. */
    const sign = async (link: string, first: ServerProcess) => {
      for (let at = first; ; at = one) {
        const sent = await fetch(at.origin + link, {
          method: 'POST',
          headers: { Accept: 'text/html' },
          redirect: 'manual',
        }).catch(() => undefined);
        if (sent?.status !== 303) continue;
        expect(sent.headers.get('location')).toBe(link);
        counted += 1;
        if (counted === 20) killed = two.end('SIGKILL');
        return;
      }
    };
    await Promise.all(links.map((link, n) => sign(link, n % 2 === 0 ? one : two)));
    await killed;
    // Everyone presses again.
    await Promise.all(links.map((link) => sign(link, one)));
    const { body } = await client.at(one.origin).get('petition.get-petition', { petitionId });
    expect(body.data.signatures).toBe(200);
    const signers = await sql<{ signers: number }>(
      `SELECT count(DISTINCT subject_id)::int AS signers FROM events WHERE organization_id = $1 AND type = 'PetitionSigned'`,
      [client.organizationId],
    );
    expect(signers).toEqual([{ signers: 200 }]);
  },
);
