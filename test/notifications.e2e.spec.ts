import PostalMime from 'postal-mime';
import { type Client } from './harness.js';
import { petitions } from '../src/petitions/index.js';
import { signedIn, type Visitor } from './people-in.js';
import { call, Public, PUBLIC_URL } from './petition-page.js';
import { eventually } from './processes.js';
import { appendSignatures, signWithComment } from './signers.js';

let site: Public;
let client: Client;
let signers = 0;
beforeAll(async () => {
  site = await Public.start({ instances: 2 });
});
afterAll(() => site.stop());
beforeEach(async () => {
  client = await site.api.organization();
});

const address = (name: string) => `${name}-${client.organizationId}@example.org`;
const join = (role: string) => signedIn(site.api, client, role, address(role));
const sql = <Row>(text: string, ...parameters: unknown[]): Promise<Row[]> =>
  site.api.instances[0]!.runtime.source.query(text, parameters);

type Mail = { kind: string; subject: string; text: string; off: string };

/** The notifications to a member so far. Invitations have no link to turn them off. */
async function mailsTo(role: string, of = ''): Promise<Mail[]> {
  const all = await Promise.all(
    site.mailsTo(address(role)).map(({ content = '' }) => PostalMime.parse(content)),
  );
  return all
    .map(({ subject = '', text = '', messageId = '', headers }) => ({
      kind: messageId.slice(1).split('.')[0]!,
      subject,
      text,
      off: headers.find(({ key }) => key === 'list-unsubscribe')?.value.slice(1, -1) ?? '',
    }))
    .filter(({ kind, off }) => off !== '' && (of === '' || kind === of));
}

/** Waits until a member has this many notifications. */
async function gets(role: string, count = 1, of = ''): Promise<Mail[]> {
  await eventually(async () => expect(await mailsTo(role, of)).toHaveLength(count));
  return mailsTo(role, of);
}

const petition = async (title: string, more = {}) => {
  const { petitionId } = await site.petition({ name: title, title, ...more }, client);
  return petitionId;
};
const sign = (petitionId: string) =>
  call(client, 'petition.add-signature', { petitionId, contact: { email: address(`p${(signers += 1)}`) } });
const comment = (petitionId: string) =>
  signWithComment(site.api, client, petitionId, { email: address(`c${(signers += 1)}`), comment: 'Secret' });

/** Waits until every event so far is handled, so that it can cause no more emails. */
async function settled(): Promise<void> {
  const [last] = await sql<{ position: string }>('SELECT max(position) AS position FROM events');
  await eventually(async () =>
    expect(
      await sql(
        `SELECT name FROM subscriptions WHERE name IN ('notifications', 'weekly-summaries') AND position < $1
         UNION ALL SELECT subscription FROM subscription_retries WHERE subscription IN ('notifications', 'weekly-summaries')`,
        last!.position,
      ),
    ).toEqual([]),
  );
}

const timersOf = (timer: string, id: string) =>
  sql<{ due_at: Date }>('SELECT due_at FROM timers WHERE timer = $1 AND id = $2', timer, id);

/** Waits until a timer is set, and makes it due. @returns its time before. */
async function comeDue(timer: string, id: string): Promise<Date> {
  await eventually(async () => expect(await timersOf(timer, id)).toHaveLength(1));
  const [{ due_at: dueAt } = { due_at: new Date(0) }] = await timersOf(timer, id);
  await sql('UPDATE timers SET next_at = clock_timestamp() WHERE timer = $1 AND id = $2', timer, id);
  return dueAt;
}

/** Moves the signatures of a petition into the past. */
const age = (petitionId: string, days: number) =>
  sql(
    `UPDATE ${petitions.linkTable!} SET created_at = created_at - make_interval(days => $2) WHERE record_id = $1`,
    petitionId,
    days,
  );

const memberWith = async (role: string): Promise<string> => {
  const { data } = (await client.get('team.list-members')).body;
  return data.find(({ email }: { email: string }) => email === address(role)).id;
};
const settingsOf = async (role: string) =>
  (await client.get('notification.get-settings', { memberId: await memberWith(role) })).body.data;

const ALL_ON = {
  firstSignature: true,
  goalReached: true,
  commentWaiting: true,
  broadcastFinished: true,
  webhookDisabled: true,
  weeklySummary: true,
};

describe('members are told about', () => {
  it('the first signature of a petition and its goal, each once, even if many sign at the same time', async () => {
    for (const role of ['EDITOR', 'VIEWER', 'AUDITOR']) await join(role);
    const petitionId = await petition('Save the river', { goal: 4 });
    await Promise.all([sign(petitionId), sign(petitionId), sign(petitionId)]);
    const [first] = await gets('EDITOR');
    expect(first).toMatchObject({
      subject: 'First signature: Save the river',
      text: expect.stringContaining(
        `${PUBLIC_URL}/dashboard/${client.organizationId}/petitions/${petitionId}`,
      ),
    });
    await sign(petitionId);
    const [, second] = await gets('EDITOR', 2);
    expect(second!.subject).toBe('Goal reached: Save the river');
    await sign(petitionId);
    await settled();
    expect(await mailsTo('EDITOR')).toHaveLength(2);
    expect(await mailsTo('VIEWER')).toHaveLength(2);
    expect(await mailsTo('AUDITOR')).toEqual([]);
  });

  it('the first signature once, also if comments arrive with it', async () => {
    await join('EDITOR');
    const petitionIds = await Promise.all(
      Array.from({ length: 6 }, (_, n) => petition(`Together ${n}`, { comments: 'APPROVED' })),
    );
    await Promise.all(petitionIds.flatMap((id) => [sign(id), comment(id), sign(id), comment(id)]));
    await gets('EDITOR', petitionIds.length, 'firstSignature');
    await settled();
    expect(await mailsTo('EDITOR', 'firstSignature')).toHaveLength(petitionIds.length);
    for (const id of petitionIds) expect(await timersOf('comments-waiting', id)).toHaveLength(1);
  });

  it('the first signature once, also if the mail server is only reachable after further ones', async () => {
    await join('EDITOR');
    const petitionId = await petition('Outage');
    await site.mail.stop();
    await sign(petitionId);
    const waiting = () =>
      sql(
        `SELECT FROM subscription_retries WHERE subscription = 'notifications' AND organization_id = $1`,
        client.organizationId,
      );
    await eventually(async () => expect(await waiting()).toHaveLength(1));
    // As if the next one came a day later.
    await age(petitionId, 1);
    await sign(petitionId);
    const [last] = await sql<{ position: string }>('SELECT max(position) AS position FROM events');
    await eventually(async () =>
      expect(
        await sql(
          `SELECT FROM subscriptions WHERE name = 'notifications' AND position >= $1`,
          last!.position,
        ),
      ).toHaveLength(1),
    );
    await age(petitionId, -1);
    await site.mail.start();
    await eventually(async () => {
      await sql('UPDATE subscription_retries SET due_at = clock_timestamp() WHERE due_at IS NOT NULL');
      expect(await mailsTo('EDITOR', 'firstSignature')).toHaveLength(1);
    });
    await settled();
    expect(await mailsTo('EDITOR')).toHaveLength(1);
  });

  it('no first signature that was collected elsewhere long before', async () => {
    await join('EDITOR');
    const petitionId = await petition('Elsewhere', { goal: 1 });
    const { store } = site.api.instances[0]!.runtime;
    await appendSignatures(store, client.organizationId, petitionId, 1, {
      signedAt: '2020-01-01T00:00:00.000Z',
    });
    await gets('EDITOR', 1, 'goalReached');
    await settled();
    expect(await mailsTo('EDITOR')).toHaveLength(1);
  });

  it('no first signature if the petition had one long before', async () => {
    const petitionId = await petition('Old');
    await sign(petitionId);
    await settled();
    await age(petitionId, 1);
    await join('OWNER');
    await sign(petitionId);
    await settled();
    expect(await mailsTo('OWNER')).toEqual([]);
  });

  it('comments that wait: once for all of them, and again a day later if there are new ones', async () => {
    for (const role of ['EDITOR', 'VIEWER']) await join(role);
    const petitionId = await petition('Talk', { comments: 'APPROVED' });
    await comment(petitionId);
    await comment(petitionId);
    await settled();
    const due = await comeDue('comments-waiting', petitionId);
    const [mail] = await gets('EDITOR', 1, 'commentWaiting');
    expect(mail).toMatchObject({
      subject: '2 comments to review: Talk',
      text: expect.stringContaining(`/petitions/${petitionId}/signatures?commentState=WAITING`),
    });
    expect(mail!.text).not.toContain('Secret');

    const DAY_MS = 86_400_000;
    // A day after it was due, not after it was sent: otherwise comments of the time in between would be left out.
    await eventually(async () =>
      expect(await timersOf('comments-waiting', petitionId)).toEqual([
        { due_at: new Date(due.getTime() + DAY_MS) },
      ]),
    );
    await sql(
      `UPDATE timers SET due_at = due_at + interval '1 hour' WHERE timer = 'comments-waiting' AND id = $1`,
      petitionId,
    );
    await comeDue('comments-waiting', petitionId);
    await eventually(async () => expect(await timersOf('comments-waiting', petitionId)).toEqual([]));
    expect(await mailsTo('EDITOR', 'commentWaiting')).toHaveLength(1);

    await comment(petitionId);
    await settled();
    await comeDue('comments-waiting', petitionId);
    const [, second] = await gets('EDITOR', 2, 'commentWaiting');
    expect(second!.subject).toBe('3 comments to review: Talk');
    expect(await mailsTo('VIEWER', 'commentWaiting')).toEqual([]);
  });

  it('no comments if they need no approval', async () => {
    const petitionId = await petition('Open', { comments: 'SHOWN' });
    await comment(petitionId);
    await settled();
    expect(await timersOf('comments-waiting', petitionId)).toEqual([]);
  });

  it('a finished email with its figures, and a scheduled one that could not be sent', async () => {
    await join('EDITOR');
    await call(client, 'organization.update-organization', {
      postalAddress: '1 River Road',
      mailFrom: { name: 'Rivers', address: 'news@rivers.example.org' },
    });
    await call(client, 'contact.create-contact', {
      ...{ organizationId: client.organizationId, email: address('reader'), subscribed: true },
    });
    const create = async (name: string) =>
      (
        await call(client, 'broadcast.create-broadcast', {
          ...{ name, subject: 'News', content: 'Hello', audience: { all: true } },
        })
      ).broadcastId;
    await call(client, 'broadcast.send-broadcast', { broadcastId: await create('News & more') });
    expect(await gets('EDITOR')).toMatchObject([
      { subject: 'Finished sending: News & more', text: expect.stringContaining('Sent to 1 person') },
    ]);
    const broadcastId = await create('Later');
    const sendAt = new Date(Date.now() + 3_600_000).toISOString();
    await call(client, 'broadcast.send-broadcast', { broadcastId, sendAt });
    await call(client, 'organization.update-organization', { postalAddress: null });
    await comeDue('broadcast-start', broadcastId);
    const [, mail] = await gets('EDITOR', 2);
    expect(mail!.subject).toBe('Not sent: Later');
  });
});

describe('settings', () => {
  it('are all on at first, and what is turned off is not sent', async () => {
    await join('OWNER');
    const memberId = await memberWith('OWNER');
    const { organizationId } = client;
    expect(await settingsOf('OWNER')).toEqual({ memberId, version: 0, ...ALL_ON, organizationId });
    const changed = await call(client, 'notification.update-settings', { memberId, firstSignature: false });
    expect(changed).toEqual({ memberId, version: 1, ...ALL_ON, firstSignature: false, organizationId });
    await sign(await petition('Quiet', { goal: 1 }));
    await gets('OWNER', 1, 'goalReached');
    await settled();
    expect(await mailsTo('OWNER')).toHaveLength(1);
  });

  it('end with the membership', async () => {
    for (const role of ['OWNER', 'EDITOR']) await join(role);
    const memberId = await memberWith('EDITOR');
    await client.delete('team.remove-member', { memberId });
    expect((await client.get('notification.get-settings', { memberId })).status).toBe(404);
    expect((await client.post('notification.update-settings', { memberId })).status).toBe(404);
    await sign(await petition('After'));
    await gets('OWNER');
    await settled();
    expect(await mailsTo('EDITOR')).toEqual([]);
  });

  it('are changed on a page that only shows what the role can get', async () => {
    const viewer = await join('VIEWER');
    const path = `/dashboard/${client.organizationId}/notifications`;
    const page = await viewer.get(path);
    expect(page.text).toMatch(/<input[^>]*name="weeklySummary"[^>]* checked/);
    expect(page.text).not.toContain('name="webhookDisabled"');
    const { status, location } = await viewer.post(path, { goalReached: 'true' });
    expect([status, location]).toEqual([303, expect.stringContaining(path)]);
    const chosen = { firstSignature: false, broadcastFinished: false, weeklySummary: false };
    expect(await settingsOf('VIEWER')).toMatchObject({ ...ALL_ON, ...chosen });
    const saved = await viewer.get(location!);
    expect(saved.text).toContain('Your choice was saved.');
    expect(saved.text).not.toMatch(/<input[^>]*name="weeklySummary"[^>]* checked/);
    expect((await (await join('AUDITOR')).get(path)).status).toBe(403);
  });
});

describe('the link in an email', () => {
  let stranger: Visitor;
  let path: string;
  beforeEach(async () => {
    stranger = (await join('EDITOR')).at(site.api.origin);
    stranger.cookie = '';
    await sign(await petition('Links'));
    const [mail] = await gets('EDITOR');
    expect(mail!.text).toContain(mail!.off);
    path = mail!.off.slice(PUBLIC_URL.length);
  });

  it('turns this kind of email off without signing in, but only by POST', async () => {
    const asked = await stranger.get(path);
    expect([asked.status, asked.text]).toEqual([
      200,
      expect.stringContaining('A petition gets its first signature'),
    ]);
    expect(await settingsOf('EDITOR')).toMatchObject({ ...ALL_ON, version: 0 });
    for (let times = 0; times < 2; times += 1) {
      const { status, text } = await stranger.post(path);
      expect([status, text]).toEqual([200, expect.stringContaining('These emails are turned off')]);
      expect(await settingsOf('EDITOR')).toMatchObject({ ...ALL_ON, firstSignature: false, version: 1 });
    }
  });

  it('works with the unsubscribe button of mail programs', async () => {
    const body = new URLSearchParams({ 'List-Unsubscribe': 'One-Click' });
    const { status } = await fetch(site.api.origin + path, {
      method: 'POST',
      body,
    });
    expect(status).toBe(200);
    expect(await settingsOf('EDITOR')).toMatchObject({ firstSignature: false });
  });

  it('works only for its own kind, unaltered, and changes nothing for former members', async () => {
    const [, , , kind, token = ''] = path.split('/');
    for (const other of [
      path.replace(kind!, 'goalReached'),
      path.replace(kind!, 'constructor'),
      `${path}A`,
      path.replace(token, `${token.startsWith('A') ? 'B' : 'A'}${token.slice(1)}`),
    ]) {
      expect((await stranger.get(other)).status).toBe(404);
      expect((await stranger.post(other)).status).toBe(404);
    }
    expect(await settingsOf('EDITOR')).toMatchObject({ version: 0 });
    await join('OWNER');
    await client.delete('team.remove-member', { memberId: await memberWith('EDITOR') });
    // Their next membership has links of its own, so this page must not say that it turned something off.
    expect((await stranger.get(path)).status).toBe(404);
    expect((await stranger.post(path)).status).toBe(404);
    expect(
      await sql(
        `SELECT FROM events WHERE organization_id = $1 AND type = 'NotificationSettingsChanged'`,
        client.organizationId,
      ),
    ).toEqual([]);
  });
});

describe('the weekly summary', () => {
  const CLOCK = 'weekly-summary';
  const local = (moment: Date) =>
    new Intl.DateTimeFormat('en-GB', { timeZone: 'Europe/Berlin', weekday: 'short', hour: '2-digit' }).format(
      moment,
    );

  /** Fires the second timer on a day whose past week contains today, even if today ends during the test. */
  const mailNow = () =>
    eventually(async () => {
      const [, changed] = (await sql(
        `UPDATE timers SET due_at = date_trunc('second', clock_timestamp()) + interval '3 days', next_at = clock_timestamp()
         WHERE timer = 'weekly-summary-mail' AND id = $1`,
        client.organizationId,
      )) as unknown as [unknown, number];
      expect(changed).toBe(1);
    });

  it('says what happened in the week before Monday, once, and its timer is set for the next one', async () => {
    await call(client, 'organization.update-organization', { timeZone: 'Europe/Berlin' });
    for (const role of ['EDITOR', 'VIEWER', 'AUDITOR']) await join(role);
    await settled();
    const petitionId = await petition('Week', { goal: 100, comments: 'APPROVED' });
    await sign(petitionId);
    await comment(petitionId);
    await call(client, 'petition.record-offline-signatures', {
      petitionId,
      count: 10,
      collectedOn: '2026-11-01',
    });
    await call(client, 'petition.close-petition', { petitionId });
    await sign(await petition('Other', { goal: 10 }));
    await settled();
    const monday = await comeDue(CLOCK, client.organizationId);
    expect([local(monday), monday.getTime() > Date.now()]).toEqual(['Mon, 08', true]);
    await mailNow();
    const [mail] = await gets('EDITOR', 1, 'weeklySummary');
    for (const part of [
      'New signatures: 3',
      'New contacts: 3',
      'Unsubscribed: 0',
      '“Week”: 2 new signatures (12 of 100)',
      '“Other”: 1 new signature (1 of 10)',
      '1 comment awaits your approval.',
    ])
      expect(mail!.text).toContain(part);
    // Viewers cannot approve comments.
    const [seen] = await gets('VIEWER', 1, 'weeklySummary');
    expect(seen!.text).not.toContain('approval');
    await eventually(async () => {
      const [timer] = await timersOf(CLOCK, client.organizationId);
      expect(timer!.due_at.getTime()).toBeGreaterThan(monday.getTime());
      expect(local(timer!.due_at)).toBe('Mon, 08');
      expect(await timersOf('weekly-summary-mail', client.organizationId)).toEqual([]);
    });
    expect(await mailsTo('AUDITOR')).toEqual([]);
  });

  it('is not sent if nothing happened', async () => {
    await join('OWNER');
    await settled();
    await comeDue(CLOCK, client.organizationId);
    await mailNow();
    await eventually(async () =>
      expect(await timersOf('weekly-summary-mail', client.organizationId)).toEqual([]),
    );
    expect(await mailsTo('OWNER')).toEqual([]);
  });
});
