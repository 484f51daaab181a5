import { type Client } from './harness.js';
import { call, type PetitionPage, Public } from './petition-page.js';
import { eventually } from './processes.js';

let site: Public;
let client: Client;
beforeAll(async () => {
  site = await Public.start({ instances: 2 });
});
afterAll(() => site.stop());
beforeEach(async () => {
  client = await site.api.organization();
  await call(client, 'organization.update-organization', {
    mailFrom: { name: 'Rivers', address: 'news@rivers.example.org' },
  });
});

const XSS = `<script>alert(1)</script><img src=x onerror=alert(2)>"'`;
const MAIL = { subject: 'Thank you, {{ contact.firstName }}', content: 'For **{{ petition.title }}**.' };

const statsOf = async ({ petitionId }: PetitionPage) =>
  (await client.get('petition.get-stats', { petitionId })).body.data;
const thanksTo = (email: string) =>
  site.mailsTo(email).filter(({ content = '' }) => /^Message-ID:\s*<thanks\./im.test(content));

describe('thankYou', () => {
  it('is shown after confirming and after signing again, and scripts in it never run', async () => {
    const thankYou = {
      title: `Thanks ${XSS}`,
      text: `**Well done** ${XSS} [link](javascript:alert(3))`,
      nextUrl: 'https://rivers.example.org/donate?a=1&b="2"',
      nextLabel: `Donate ${XSS}`,
    };
    const page = await site.petition({ thankYou }, client);
    const path = await site.signAndConfirm(page, 'ada@example.org');
    const { text } = await site.get(path);
    expect(text).toContain('<strong>Well done</strong>');
    expect(text).toContain('href="https://rivers.example.org/donate?a=1&amp;b=&quot;2&quot;"');
    expect(text).toContain('Donate &lt;script&gt;');
    expect(text).not.toMatch(/<script>|<img src=x|href="javascript:/);
    // Updating one part replaces the whole.
    const { petitionId } = page;
    const changed = await call(client, 'petition.update-petition', {
      petitionId,
      thankYou: { title: 'Merci' },
    });
    expect(changed.thankYou).toEqual({ title: 'Merci', text: null, nextUrl: null, nextLabel: null });
    await eventually(async () => expect((await site.get(path)).text).toContain('<h1>Merci</h1>'));
    expect(
      (await call(client, 'petition.update-petition', { petitionId, thankYou: {} })).thankYou,
    ).toBeNull();
  });

  it('is shown when signatures count immediately, also in a frame', async () => {
    const thankYou = { title: 'Merci', nextUrl: 'https://example.org/', nextLabel: 'Next' };
    const page = await site.petition({ confirmation: 'NONE', thankYou }, client);
    for (const end of ['', '?embed']) {
      const { text } = await site.get(`${page.path}/thanks${end}`);
      expect(text).toContain('<h1>Merci</h1>');
      expect(text).toContain('href="https://example.org/"');
    }
  });

  it.each([
    [{ nextUrl: 'javascript:alert(1)', nextLabel: 'x' }, 'thankYou.nextUrl'],
    [{ nextUrl: '/donate', nextLabel: 'x' }, 'thankYou.nextUrl'],
    [{ nextUrl: 'https://example.org' }, 'thankYou.nextLabel'],
    [{ nextLabel: 'Donate' }, 'thankYou.nextUrl'],
    [{ title: 'x'.repeat(201) }, 'thankYou.title'],
    [{ heading: 'x' }, 'thankYou.heading'],
    ['text', 'thankYou'],
  ])('%j is rejected with the field %s', async (thankYou, path) => {
    const { status, body } = await client.post('petition.create-petition', { name: 'River', thankYou });
    expect([status, body.error.issues[0].path]).toEqual([400, path]);
  });
});

describe('thankYouMail', () => {
  it.each([
    [{ subject: 'x', content: '{{ contact.salary }}' }, 'thankYouMail.content'],
    [{ subject: '{{ petition.nme }}', content: 'x' }, 'thankYouMail.subject'],
    [{ subject: 'x', content: '{% include "/etc/passwd" %}' }, 'thankYouMail.content'],
    [{ subject: 'x' }, 'thankYouMail.content'],
    [{ subject: '', content: 'x' }, 'thankYouMail.subject'],
  ])('%j is rejected with the field %s', async (thankYouMail, path) => {
    const created = await client.post('petition.create-petition', { name: 'River', thankYouMail });
    const { petitionId } = await call(client, 'petition.create-petition', { name: 'Lake' });
    const updated = await client.post('petition.update-petition', { petitionId, thankYouMail });
    for (const { status, body } of [created, updated])
      expect([status, body.error.issues[0].path]).toEqual([400, path]);
  });

  it('is sent once for each confirmed signature, with an unsubscribe link, and not for the API', async () => {
    const page = await site.petition({ thankYouMail: MAIL }, client);
    const { petitionId } = page;
    const contact = { email: 'api@example.org', firstName: 'Api' };
    await call(client, 'petition.add-signature', { petitionId, contact });
    const path = await site.signAndConfirm(page, 'once@example.org', { firstName: 'Eve' });
    // Confirming again, signing again and withdrawing send nothing.
    await Promise.all([site.post(path, {}), site.post(path, {}, { at: 1 })]);
    await eventually(() => expect(thanksTo('once@example.org')).toHaveLength(1));
    const [{ content = '' } = {}] = thanksTo('once@example.org');
    expect(content).toContain('Subject: Thank you, Eve');
    expect(content).toContain('<strong>Save the river</strong>');
    expect(content).toContain('List-Unsubscribe-Post: List-Unsubscribe=One-Click');
    expect(content).toContain('Auto-Submitted: auto-generated');
    await site.signAndConfirm(page, 'last@example.org');
    await eventually(async () =>
      expect((await statsOf(page)).thankYouMails).toEqual({
        sent: 2,
        waiting: 0,
        skipped: 0,
        failed: 0,
        inDoubt: 0,
      }),
    );
    expect(thanksTo('once@example.org')).toHaveLength(1);
    expect(site.mailsTo('api@example.org')).toEqual([]);
  });

  it('skips suppressed signers, and is not sent for signatures without one', async () => {
    const page = await site.petition({ thankYouMail: MAIL }, client);
    await call(client, 'suppression.create-suppression', { email: 'stop@example.org' });
    await site.signAndConfirm(page, 'stop@example.org');
    await eventually(async () => expect((await statsOf(page)).thankYouMails?.skipped).toBe(1));
    expect(thanksTo('stop@example.org')).toEqual([]);
    const { petitionId } = page;
    await call(client, 'petition.update-petition', { petitionId, thankYouMail: null });
    await site.signAndConfirm(page, 'none@example.org');
    await call(client, 'petition.update-petition', { petitionId, thankYouMail: MAIL });
    await site.signAndConfirm(page, 'later@example.org');
    await eventually(() => expect(thanksTo('later@example.org')).toHaveLength(1));
    expect(thanksTo('none@example.org')).toEqual([]);
  });

  it('carries no advertisement to an address that no one has proved', async () => {
    const page = await site.petition({ thankYouMail: MAIL, confirmation: 'NONE' }, client);
    await site.sign(page, { email: 'stranger@example.org', firstName: 'Win https://evil.example/x' });
    await site.sign(page, { email: 'real@example.org', firstName: 'Anne-Marie' });
    await eventually(() => expect(thanksTo('stranger@example.org')).toHaveLength(1));
    expect(thanksTo('stranger@example.org')[0]!.content).not.toContain('evil');
    await eventually(() => expect(thanksTo('real@example.org')).toHaveLength(1));
    expect(thanksTo('real@example.org')[0]!.content).toContain('Subject: Thank you, Anne-Marie');
  });

  it('is retried if the server rejects it for now, and is sent to the contact who has the signature then', async () => {
    const page = await site.petition({ thankYouMail: MAIL }, client);
    const path = await (async () => {
      await site.sign(page, { email: 'slow@example.org' });
      return site.linkTo('slow@example.org');
    })();
    await site.mail.behave({ refuses: { rcpt: { codes: [451] } } });
    await site.post(path, {});
    await eventually(async () => expect((await statsOf(page)).thankYouMails?.waiting).toBe(1));
    await site.mail.behave({});
    await eventually(() => expect(thanksTo('slow@example.org')).toHaveLength(1));
  });

  it('is sent again on request if its delivery is unknown: once for each retry, and not for withdrawn signatures', async () => {
    const page = await site.petition({ thankYouMail: MAIL }, client);
    const { petitionId } = page;
    const to = 'doubt@example.org';
    const hasSent = (number: number) =>
      eventually(async () => {
        expect((await statsOf(page)).thankYouMails).toMatchObject({ sent: 1, waiting: 0, inDoubt: 0 });
        expect(thanksTo(to)).toHaveLength(number);
      });
    const { database } = site.api;
    const doubt = () => database.source.query(`UPDATE thank_you_mails SET status = 'IN_DOUBT'`);
    const retry = () => call(client, 'petition.retry-thank-you-mails', { petitionId, status: 'IN_DOUBT' });
    await site.signAndConfirm(page, to);
    await hasSent(1);
    await doubt();
    await Promise.all([retry(), retry()]);
    await hasSent(2);
    await doubt();
    // Subscriptions may handle events again after a crash.
    const cursor = async () => {
      const text = `SELECT position FROM subscriptions WHERE name = 'thank-you-mails'`;
      return Number((await database.source.query<{ position: string }[]>(text))[0]!.position);
    };
    const before = await cursor();
    await database.source.query(
      `UPDATE subscriptions SET holder = NULL, held_until = NULL, position = (
         SELECT min(position) - 1 FROM events WHERE type = 'ThankYouMailRetried' AND organization_id = $1
       ) WHERE name = 'thank-you-mails'`,
      [client.organizationId],
    );
    await eventually(async () => expect(await cursor()).toBeGreaterThanOrEqual(before));
    expect([thanksTo(to).length, (await statsOf(page)).thankYouMails.inDoubt]).toEqual([2, 1]);
    const [{ id: contactId }] = (await client.get('contact.list-contacts')).body.data;
    await client.delete('petition.remove-signature', { petitionId, contactId });
    expect((await retry()).thankYouMails).toMatchObject({ sent: 0, inDoubt: 0 });
    await eventually(async () => expect((await statsOf(page)).thankYouMails.skipped).toBe(1));
    expect(thanksTo(to)).toHaveLength(2);
  });

  it('can be previewed and tested', async () => {
    const { petitionId } = await site.petition({ thankYouMail: MAIL }, client);
    const preview = await client.get('petition.preview-thank-you', { petitionId });
    expect(preview.body.data).toMatchObject({ petitionId, subject: 'Thank you,' });
    const tested = await call(client, 'petition.send-thank-you-test', { petitionId, to: ['me@example.org'] });
    expect(tested.outcomes).toMatchObject([{ number: 1, sent: true }]);
    expect(site.mailsTo('me@example.org')[0]!.content).toContain('Subject: [Test] Thank you,');
    expect((await statsOf({ petitionId } as PetitionPage)).thankYouMails).toBeNull();
  });
});

describe('recruiting', () => {
  /** The token in the share link that the signer sees. */
  async function viaOn(path: string): Promise<{ via: string; text: string }> {
    const { text } = await site.get(path);
    const [, via = ''] = /value="[^"]*\?via=([\w-]+)"/.exec(text) ?? [];
    return { via, text };
  }
  const signaturesOf = async ({ petitionId }: PetitionPage) =>
    (await client.get('petition.list-signatures', { petitionId, sort: 'createdAt' })).body.data;
  const recruiting = async (page: PetitionPage) => {
    const { recruited, recruiters } = await statsOf(page);
    return { recruited, recruiters };
  };
  const NONE = { recruited: 0, recruiters: [] };

  it('counts who signed through a link, and subtracts withdrawn signatures', async () => {
    const page = await site.petition({}, client);
    const { petitionId } = page;
    const path = await site.signAndConfirm(page, 'recruiter@example.org');
    const { via, text } = await viaOn(path);
    expect(via).toMatch(/^[\w-]{32}$/);
    expect(text).not.toContain('through your link');
    const [{ id: signatureId, contactId: ada }] = await signaturesOf(page);
    for (const hidden of [signatureId, signatureId.replaceAll('-', '')]) {
      expect(text).not.toContain(hidden);
      expect(Buffer.from(via, 'base64url').toString('hex')).not.toContain(hidden.slice(0, 8));
    }
    // The form carries it, also after an error.
    expect((await site.get(`${page.path}?via=${via}`)).text).toContain(`name="via" value="${via}"`);
    expect((await site.sign(page, { email: 'x', via })).text).toContain(`name="via" value="${via}"`);
    expect((await site.get(page.path)).text).not.toContain('name="via"');
    for (const n of [1, 2, 3]) await site.signAndConfirm(page, `friend-${n}@example.org`, { via });
    expect((await viaOn(path)).text).toContain('3 people signed through your link');
    expect(await recruiting(page)).toEqual({ recruited: 3, recruiters: [{ signatureId, signatures: 3 }] });
    const [, , , { contactId }] = await signaturesOf(page);
    const moment = new Date().toISOString();
    await client.delete('petition.remove-signature', { petitionId, contactId });
    expect((await viaOn(path)).text).toContain('2 people signed through your link');
    expect((await recruiting(page)).recruited).toBe(2);
    const past = await client.get('petition.get-stats', { petitionId, asOf: moment });
    expect(past.body.data).toMatchObject({ recruited: 3, recruiters: [{ signatureId, signatures: 3 }] });
    const one = (await site.get(`${page.path}/qr.svg`)).text;
    expect((await site.get(`${page.path}/qr.svg?via=${via}`)).text).not.toBe(one);
    expect((await site.get(`${page.path}/qr.svg?via=${'x'.repeat(32)}`)).text).toBe(one);
    // An erased recruiter stays counted, without a name, and recruits no one else.
    await client.delete('contact.delete-contact', { contactId: ada });
    await site.signAndConfirm(page, 'too-late@example.org', { via });
    expect(await recruiting(page)).toEqual({ recruited: 2, recruiters: [{ signatureId, signatures: 2 }] });
  });

  it('ignores forged tokens and those of other petitions and organizations, and no one recruits themselves', async () => {
    const page = await site.petition({}, client);
    const { petitionId } = page;
    const other = await site.petition({ name: 'Lake' }, client);
    const foreign = await site.petition({}, await site.api.organization());
    const { via } = await viaOn(await site.signAndConfirm(page, 'self@example.org'));
    const tokens = [
      (await viaOn(await site.signAndConfirm(other, 'bob@example.org'))).via,
      (await viaOn(await site.signAndConfirm(foreign, 'eve@example.org'))).via,
      (via.startsWith('A') ? 'B' : 'A') + via.slice(1),
      via.slice(1),
      `${via}A`,
      '"><script>',
      'x'.repeat(5_000),
    ];
    for (const [n, token] of tokens.entries())
      await site.signAndConfirm(page, `person-${n}@example.org`, { via: token });
    expect(await recruiting(page)).toEqual(NONE);
    // After withdrawing, they could sign by their own link.
    const [{ contactId }] = await signaturesOf(page);
    await client.delete('petition.remove-signature', { petitionId, contactId });
    await site.sign(page, { email: 'self@example.org', via });
    await site.post(await site.linkTo('self@example.org', 2), {});
    expect((await signaturesOf(page)).map((one: { contactId: string }) => one.contactId)).toContain(
      contactId,
    );
    expect(await recruiting(page)).toEqual(NONE);
  });
});

describe('autoGoal', () => {
  it('raises the goal once at 80 %, whichever instance handles the signatures', async () => {
    const page = await site.petition({ goal: 5, autoGoal: true }, client);
    const still = await site.petition({ name: 'Lake', goal: 5 }, client);
    const people = Array.from({ length: 4 }, (_, n) => ({ email: `goal-${n}@example.org` }));
    const instances = site.api.instances.map(({ origin }) => client.at(origin));
    const answers = await Promise.all(
      people.flatMap((contact, n) =>
        [page, still].map(({ petitionId }) =>
          instances[n % 2]!.post('petition.add-signature', { petitionId, contact }),
        ),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    const goalOf = async ({ petitionId }: PetitionPage) =>
      (await client.get('petition.get-petition', { petitionId })).body.data.goal;
    await eventually(async () => expect(await goalOf(page)).toBe(100));
    const changes: { data: object; actor: string }[] = await site.api.database.source.query(
      `SELECT data, metadata->'actor'->>'id' AS actor FROM events WHERE type = 'PetitionUpdated' AND stream_id = $1`,
      [page.petitionId],
    );
    expect(changes).toEqual([{ data: { goal: 100 }, actor: 'petition-goals' }]);
    expect(await goalOf(still)).toBe(5);
    // Switched on later, it raises the goal immediately.
    await call(client, 'petition.update-petition', { petitionId: still.petitionId, autoGoal: true });
    await eventually(async () => expect(await goalOf(still)).toBe(100));
  });
});
