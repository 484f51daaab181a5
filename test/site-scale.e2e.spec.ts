import { type Challenge } from 'altcha-lib/v1/types';
import { type CountingProxy, startCountingProxy } from '#libs/testing';
import { Browser, findChromium } from './browser.js';
import { isLong, longIt } from './length.js';
import { ageForm, call, linkIn, type PetitionPage, proofOfWork, Public } from './petition-page.js';
import { eventually } from './processes.js';

/** The number of signers. SITE_PEOPLE sets it. */
const PEOPLE = Number(process.env.SITE_PEOPLE ?? (isLong ? 300 : 20));
const AT_ONCE = 20;

let people: Public;
/** Closed after the instances that use them. */
const proxies: CountingProxy[] = [];
beforeAll(async () => {
  people = await Public.start({ instances: 2, environment: { MAIL_CONCURRENCY: '20' } });
});
afterAll(async () => {
  await people.stop();
  for (const proxy of proxies) await proxy.close();
});

async function inTurns<One>(
  all: readonly One[],
  work: (one: One, n: number) => Promise<unknown>,
): Promise<void> {
  for (let n = 0; n < all.length; n += AT_ONCE)
    await Promise.all(all.slice(n, n + AT_ONCE).map((one, k) => work(one, n + k)));
}
const counted = async ({ client, petitionId }: PetitionPage) => {
  const { signatures, pendingSignatures } = (await client.get('petition.get-petition', { petitionId })).body
    .data;
  return { signatures, pendingSignatures };
};

longIt(
  'many confirm twice on two instances while a tenth expires: the count is exact, and no expired data remains',
  async () => {
    const page = await people.petition();
    const { client, petitionId } = page;
    const { organizationId } = client;
    const addresses = Array.from({ length: PEOPLE }, (_, n) => `person-${n}@scale.example`);
    await inTurns(addresses, async (email, n) => {
      const { status } = await people.sign(page, { email, comment: `I am ${n}` }, { at: n % 2 });
      expect(status).toBe(200);
    });
    expect(await counted(page)).toEqual({ signatures: 0, pendingSignatures: PEOPLE });
    await eventually(() => expect(people.mail.accepted.length).toBeGreaterThanOrEqual(PEOPLE), 120);

    const isLate = (n: number) => n % 10 === 0;
    const { source } = people.api.database;
    const late = addresses.filter((_, n) => isLate(n));
    const links = new Map(people.mail.accepted.map((mail) => [mail.to, linkIn(mail)]));
    const requestIds = new Map(
      await Promise.all(
        late.map(async (email) => {
          const { text } = await people.get(links.get(email)!);
          return [email, /name="request" value="([^"]+)"/.exec(text)![1]!] as const;
        }),
      ),
    );
    const expiring = source.query('UPDATE timers SET next_at = now() WHERE id = ANY ($1::uuid[])', [
      [...requestIds.values()],
    ]);
    await inTurns(
      addresses.filter((_, n) => !isLate(n)),
      async (email) => {
        const link = links.get(email)!;
        const answers = await Promise.all([people.post(link, {}), people.post(link, {}, { at: 1 })]);
        expect(answers.map(({ status }) => status)).toEqual([303, 303]);
      },
    );
    await expiring;
    const signed = PEOPLE - late.length;
    await eventually(
      async () => expect(await counted(page)).toEqual({ signatures: signed, pendingSignatures: 0 }),
      120,
    );
    // It is now too late to confirm.
    await inTurns(late, (email) => people.post(links.get(email)!, {}));
    expect(await counted(page)).toEqual({ signatures: signed, pendingSignatures: 0 });
    for (const email of [late[0]!, late.at(-1)!]) {
      const found = await client.get('contact.list-contacts', { q: email });
      expect(found.body.data.map((one: { email: string }) => one.email)).not.toContain(email);
    }
    const [counts] = await source.query<{ contacts: number }[]>(
      `SELECT count(*)::int AS contacts FROM events WHERE organization_id = $1 AND type = 'ContactCreated'`,
      [organizationId],
    );
    expect(counts!.contacts).toBe(signed);
    const [left] = await source.query<{ keys: number }[]>(
      `SELECT count(*)::int AS keys FROM subject_keys WHERE subject_id IN (
         SELECT stream_id FROM events WHERE organization_id = $1 AND type = 'SignatureRequested')`,
      [organizationId],
    );
    expect(left!.keys).toBe(0);
    const stats = (await client.get('petition.get-stats', { petitionId })).body.data;
    expect(stats.signatures).toBe(signed);
  },
  120_000 + PEOPLE * 200,
);

it('neither the response nor the statements reveal whether an address has signed', async () => {
  const petition = await people.petition();
  const { client, petitionId } = petition;
  const proxy = await startCountingProxy(people.api.database.url);
  proxies.push(proxy);
  await people.api.addInstance({ DATABASE_URL: proxy.url });
  const at = people.api.instances.length - 1;
  const known = Array.from({ length: isLong ? 10 : 6 }, (_, n) => `known-${n}@time.example`);
  for (const email of known) await call(client, 'petition.add-signature', { petitionId, contact: { email } });
  const answers = new Set<string>();
  /** The statements sent before the response. */
  const statementsFor = async (email: string): Promise<Set<string>> => {
    proxy.forget();
    const { status, location, text } = await people.sign(petition, { email }, { at });
    // The page contains the address, and the time in its token.
    const page = text.replaceAll(email, '').replace(/name="token" value="[^"]+"/, '');
    answers.add(JSON.stringify([status, location, page]));
    // How often projections catch up depends on time only.
    const isOfRequest = (statement: string) => !/\bcheckpoints\b/.test(statement);
    return new Set(proxy.turns.flatMap(({ statements }) => statements.filter(isOfRequest)));
  };
  await statementsFor('first@time.example');
  const [ofKnown, ofNew]: [Set<string>[], Set<string>[]] = [[], []];
  for (const [n, email] of known.entries()) {
    // Caches expire between requests, on a busy machine always at the same one. So neither is always the first.
    const both = [() => statementsFor(email), () => statementsFor(`new-${n}@time.example`)];
    const [first, second] = n % 2 === 0 ? both : both.toReversed();
    const [one, other] = [await first!(), await second!()];
    ofKnown.push(n % 2 === 0 ? one : other);
    ofNew.push(n % 2 === 0 ? other : one);
  }
  expect(answers.size).toBe(1);
  expect(usual(ofKnown)).toEqual(usual(ofNew));
  expect(usual(ofKnown)).toEqual(expect.arrayContaining([expect.stringContaining('append_events(')]));
  expect(await counted(petition)).toMatchObject({ signatures: known.length });
});

/** Statements that update projections. Any instance sends them, for the events of any request. */
const OF_READ_MODELS = /advance_checkpoint|pending_signatures|^UPDATE petitions|^COMMIT$/;

/** The pulse of the instance. On a busy machine, it falls into most rounds. */
const PULSE = 'WITH h AS MATERIALIZED (SELECT event_horizon()';

/** The statements of most rounds. Other background statements occur in few. */
function usual(rounds: readonly Set<string>[]): string[] {
  return [...new Set(rounds.flatMap((round) => [...round]))]
    .filter((statement) => !OF_READ_MODELS.test(statement) && !statement.startsWith(PULSE))
    .filter((statement) => rounds.filter((round) => round.has(statement)).length > rounds.length / 2)
    .toSorted();
}

it('SITE=off: no pages and no page URLs exist', async () => {
  const { origin } = await people.api.addInstance({ SITE: 'off' });
  const client = (await people.api.organization()).at(origin);
  const { petitionId } = await call(client, 'petition.create-petition', { name: 'River' });
  const { url } = await call(client, 'petition.publish-petition', { petitionId });
  expect(url).toBeNull();
  for (const path of [`/${client.organizationId}`, '/embed.js', '/site/page.js'])
    expect((await fetch(origin + path)).status).toBe(404);
  const form = `/${client.organizationId}/petitions/river/sign`;
  expect((await fetch(origin + form, { method: 'POST', body: new URLSearchParams() })).status).toBe(404);
});

describe('CAPTCHA=altcha', () => {
  let at: number;
  let origin: string;
  beforeAll(async () => {
    ({ origin } = await people.api.addInstance({ CAPTCHA: 'altcha' }));
    at = people.api.instances.length - 1;
  });

  const proof = async () =>
    proofOfWork((await (await fetch(`${origin}/site/challenge`)).json()) as Challenge);

  it('a signer with a proof of work signs; without one, or with a used one, they must confirm as suspicious', async () => {
    const page = await people.petition({ confirmation: 'NONE' });
    const { client, petitionId } = page;
    const altcha = await proof();
    await people.sign(page, { email: 'worked@example.org', altcha }, { at });
    await eventually(async () =>
      expect(await counted(page)).toEqual({ signatures: 1, pendingSignatures: 0 }),
    );
    const broken = Buffer.from('{"number":7}').toString('base64');
    for (const [n, given] of ['', 'rubbish', broken, altcha].entries())
      await people.sign(page, { email: `idle-${n}@example.org`, altcha: given }, { at });
    const mails = () => people.mail.accepted.filter(({ to }) => to.startsWith('idle-'));
    await eventually(() => expect(mails()).toHaveLength(4));
    expect(await counted(page)).toEqual({ signatures: 1, pendingSignatures: 4 });
    const pending = await client.get('petition.list-signatures', { petitionId, status: 'PENDING' });
    for (const { suspicion } of pending.body.data) expect(suspicion).toEqual(['NO_PROOF_OF_WORK']);
  });

  (findChromium() === undefined ? it.skip : longIt)(
    'a browser computes the proof automatically',
    async () => {
      const page = await people.petition({ confirmation: 'NONE' });
      const browser = await Browser.start();
      try {
        const window = await browser.open({ width: 360 });
        await window.page.goto(origin + page.path);
        await ageForm(window.page, people.api, page.petitionId);
        await window.page.fill('#firstName', 'Ada');
        await window.page.fill('#email', 'browser@gmial.com');
        await window.page.click('form .button');
        // The script also sends the buttons below “Did you mean …?”.
        await window.press('Use browser@gmail.com');
        await window.page.waitForURL(`**${page.path}/thanks`);
        // A browser logs the status of the question.
        window.requireQuiet(origin, /status of 422/);
      } finally {
        await browser.stop();
      }
      await eventually(async () =>
        expect(await counted(page)).toEqual({ signatures: 1, pendingSignatures: 0 }),
      );
      const { body } = await page.client.get('contact.list-contacts', {});
      expect(body.data).toMatchObject([{ email: 'browser@gmail.com' }]);
    },
  );
});
