import { createSign, generateKeyPairSync } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { AmazonSns, Suppressions } from '../src/suppressions/index.js';
import { type Answer, Api, Client } from './harness.js';

const KEYS = generateKeyPairSync('rsa', { modulusLength: 2048 });
const CERTIFICATE =
  'https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-0123456789abcdef0123456789abcdef.pem';

let api: Api;
let client: Client;
let hook: string;
/** The URLs requested from Amazon. */
let fetched: string[];
beforeAll(async () => {
  api = await Api.start();
  // Only Amazon has the real key, so this test uses its own certificate.
  const fetchText = (url: URL) => {
    fetched.push(url.href);
    if (url.href.includes('unreachable')) return Promise.reject(new Error('nobody answers'));
    return Promise.resolve(KEYS.publicKey.export({ type: 'spki', format: 'pem' }) as string);
  };
  Object.assign(api.instances[0]!.app.get(AmazonSns, { strict: false }), { fetchText });
});
afterAll(() => api.stop());
beforeEach(async () => {
  client = await api.organization();
  fetched = [];
  hook = (await client.get('organization.get-organization')).body.data.mailHook;
});

const stranger = () => new Client(api.origin, '', undefined);
const JSON_TYPE = { 'Content-Type': 'application/json' };
const TEXT = { 'Content-Type': 'text/plain; charset=UTF-8' };
const send = (body: unknown, headers = JSON_TYPE, path = hook): Promise<Answer> =>
  stranger().request('POST', path, JSON.stringify(body), headers);
async function contact(email: string): Promise<string> {
  const { organizationId } = client;
  return (await client.post('contact.create-contact', { organizationId, email })).body.data.contactId;
}
/** The suppression reasons by address, if the address is readable. */
async function suppressed(): Promise<{ [email: string]: string }> {
  const { body } = await client.get('suppression.list-suppressions');
  return Object.fromEntries(body.data.map(({ email, reason }: any) => [email, reason]));
}
async function reports(): Promise<[type: string, data: object][]> {
  const { body } = await client.get('history.list-events', { recordType: 'contact-mail' });
  return body.data.map(({ type, data }: any) => [type, data]);
}
const messageId = () => `broadcast.${uuidv7()}.${uuidv7()}@mail.example.org`;

/** A webhook body as documented by Postmark (Bounce webhook). */
const postmark = (email: string, more: object = {}) => ({
  RecordType: 'Bounce',
  MessageStream: 'outbound',
  ID: 4323372036854775807,
  Type: 'HardBounce',
  TypeCode: 1,
  Name: 'Hard bounce',
  Tag: 'Test',
  MessageID: '883953f4-6105-42a2-a16a-77a8eac79483',
  Metadata: { a_key: 'a_value' },
  ServerID: 23,
  Description: 'The server was unable to deliver your message (ex: unknown user, mailbox not found).',
  Details: 'Test bounce details',
  Email: email,
  From: 'sender@example.com',
  BouncedAt: '2019-11-05T16:33:54.9070259Z',
  DumpAvailable: true,
  Inactive: true,
  CanActivate: true,
  Subject: 'Test subject',
  ...more,
});

/** A webhook event as documented by SendGrid (Event Webhook Reference). */
const sendGrid = (email: string, more: object = {}) => ({
  email,
  timestamp: 1_513_299_569,
  'smtp-id': '<14c5d75ce93.dfd.64b469@ismtpd-555>',
  event: 'bounce',
  category: 'cat facts',
  sg_event_id: uuidv7(),
  sg_message_id: 'sg_message_id',
  reason: '500 unknown recipient',
  status: '5.0.0',
  ...more,
});

/** A webhook body as documented by Mailgun (Webhook payloads). */
const mailgun = (email: string, more: object = {}) => ({
  signature: {
    token: 'a8ce0edb2dd8301dee6c2405235584e45aa91d1e9f979f3de0',
    timestamp: '1521472262',
    signature: 'd2271d',
  },
  'event-data': {
    event: 'failed',
    severity: 'permanent',
    reason: 'suppress-bounce',
    id: 'G9Bn5sl1TC6nu79C8C0bwg',
    timestamp: 1_521_233_195.375624,
    'log-level': 'error',
    'delivery-status': { code: 605, description: 'Not delivering to previously bounced address' },
    message: { headers: { to: email, 'message-id': '20130503192659.13651.20287@mg.example.com' }, size: 111 },
    recipient: email,
    ...more,
  },
});

/** A notification as documented by Amazon (SNS notification examples for SES). */
const ses = (email: string, more: object = {}) => ({
  notificationType: 'Bounce',
  bounce: {
    bounceType: 'Permanent',
    reportingMTA: 'dns; email.example.com',
    bouncedRecipients: [
      {
        emailAddress: email,
        status: '5.1.1',
        action: 'failed',
        diagnosticCode: `smtp; 550 5.1.1 <${email}>... User`,
      },
    ],
    bounceSubType: 'General',
    timestamp: '2016-01-27T14:59:38.237Z',
    feedbackId: '00000138111222aa-33322211-cccc-cccc-cccc-ddddaaaa068a-000000',
  },
  mail: {
    timestamp: '2016-01-27T14:59:38.237Z',
    source: 'john@example.com',
    messageId: '00000138111222aa-33322211-cccc-cccc-cccc-ddddaaaa0680-000000',
    destination: [email],
    commonHeaders: { from: ['John Doe <john@example.com>'], messageId: 'custom-message-ID' },
  },
  ...more,
});

const ORDER = {
  Notification: ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type'],
  SubscriptionConfirmation: [
    'Message',
    'MessageId',
    'SubscribeURL',
    'Timestamp',
    'Token',
    'TopicArn',
    'Type',
  ],
};

/** A signed message as Amazon SNS sends it. */
function sns(message: unknown, more: Record<string, string> = {}, changed: object = {}): object {
  const envelope: Record<string, string> = {
    Type: 'Notification',
    MessageId: uuidv7(),
    TopicArn: 'arn:aws:sns:eu-west-1:123456789012:bounces',
    Message: typeof message === 'string' ? message : JSON.stringify(message),
    Timestamp: '2012-05-02T00:54:06.655Z',
    SignatureVersion: '2',
    SigningCertURL: CERTIFICATE,
    UnsubscribeURL: 'https://sns.eu-west-1.amazonaws.com/?Action=Unsubscribe',
    ...more,
  };
  const text = ORDER[envelope.Type as keyof typeof ORDER]
    .filter((field) => field in envelope)
    .map((field) => `${field}\n${envelope[field]!}\n`)
    .join('');
  const algorithm = envelope.SignatureVersion === '1' ? 'RSA-SHA1' : 'RSA-SHA256';
  const Signature = createSign(algorithm).update(text).sign(KEYS.privateKey, 'base64');
  return { ...envelope, Signature, ...changed };
}

describe('the webhook address', () => {
  it('is shown only to keys that may change the organization', async () => {
    expect(hook).toMatch(/^\/hooks\/mail\/[\w-]{43}$/);
    for (const [scopes, expected] of [
      [['organization:read'], null],
      [['organization:read', 'organization:write'], hook],
    ] as const) {
      const { key } = await api.createKey(client.organizationId, { scopes: [...scopes] });
      const own = new Client(api.origin, client.organizationId, key);
      for (const query of [{}, { asOf: new Date().toISOString() }] as Record<string, string>[]) {
        const { body } = await own.get('organization.get-organization', query);
        expect([scopes, body.data.mailHook]).toEqual([scopes, expected]);
      }
    }
    const { body } = await client.post('organization.update-organization', {
      website: 'https://example.org',
    });
    expect(body.data.mailHook).toBe(hook);
    const other = await api.organization();
    expect((await other.get('organization.get-organization')).body.data.mailHook).not.toBe(hook);
  });

  it('any other address returns 404 in the envelope, and counts against the caller’s address', async () => {
    const [, token] = hook.split('/hooks/mail/') as [string, string];
    const bytes = Buffer.from(token, 'base64url');
    bytes[31]! ^= 1;
    const forged = ['x', `${token}=`, token.slice(1), bytes.toString('base64url'), 'A'.repeat(43)];
    for (const one of forged) {
      const { status, body, headers } = await send(
        { type: 'bounce', email: 'ada@example.org' },
        JSON_TYPE,
        `/hooks/mail/${one}`,
      );
      expect([one, status, body.error.code]).toEqual([one, 404, 'NOT_FOUND']);
      expect(headers.get('RateLimit-Limit')).toBe('10');
    }
    expect(await suppressed()).toEqual({});
  });

  it('accepts many parallel reports, and returns 429 with Retry-After above the limit', async () => {
    const emails = Array.from({ length: 120 }, (_, n) => `person${n}@example.org`);
    const answers = await Promise.all(emails.map((email) => send({ type: 'bounce', email })));
    for (const { status, headers } of answers) {
      // 503: the machine was too busy.
      expect([200, 429, 503]).toContain(status);
      if (status !== 200) expect(Number(headers.get('Retry-After'))).toBeGreaterThan(0);
    }
    const taken = emails.filter((_, n) => answers[n]!.status === 200);
    expect(taken.length).toBeGreaterThan(20);
    const door = api.instances[0]!.app.get(Suppressions, { strict: false });
    expect(await door.areSuppressed(client.organizationId, emails)).toEqual(new Set(taken));
  });
});

describe('the product’s own format', () => {
  it('a bounce or complaint suppresses the address and is recorded for the contact once', async () => {
    const contactId = await contact('Ada@example.org');
    const id = messageId();
    for (let n = 0; n < 2; n += 1) {
      const { status, body } = await send({ type: 'bounce', email: 'ada@example.org', messageId: `<${id}>` });
      expect([status, body]).toEqual([200, { data: { reports: 1 }, object: 'mail-hook' }]);
    }
    expect(await suppressed()).toEqual({ 'ada@example.org': 'BOUNCED' });
    expect(await reports()).toEqual([['ContactBounced', { contactId, messageId: id }]]);
    await send({ type: 'complaint', email: 'ada@example.org' });
    await send({ type: 'complaint', email: 'ada@example.org' });
    expect((await reports()).slice(1)).toEqual([['ContactComplained', { contactId, messageId: null }]]);
    // A repeated report does not undo later changes by users.
    await client.delete('suppression.delete-suppression', { email: 'ada@example.org' });
    await send({ type: 'bounce', email: 'ada@example.org', messageId: id });
    expect(await suppressed()).toEqual({});
    expect(await reports()).toHaveLength(2);
  });

  it('identical parallel reports are recorded once', async () => {
    await contact('ada@example.org');
    const report = { type: 'complaint', email: 'ada@example.org', messageId: messageId() };
    const answers = await Promise.all(Array.from({ length: 8 }, () => send(report)));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect(await reports()).toHaveLength(1);
  });

  it('reports about unknown or erased contacts suppress the address without storing it', async () => {
    const contactId = await contact('ada@example.org');
    await send({ type: 'bounce', email: 'ada@example.org', messageId: messageId() });
    await client.delete('contact.delete-contact', { contactId });
    await send({ type: 'complaint', email: 'ada@example.org', messageId: 'ada@example.org' });
    await send({ type: 'complaint', email: 'nobody@example.org', messageId: 'nobody.else@example.org' });
    const { body } = await client.get('suppression.list-suppressions');
    expect(body.data.map(({ email }: { email: null }) => email)).toEqual([null, null]);
    const history = (await client.get('history.export-events')).body;
    expect(history).not.toMatch(/ada@example|nobody/);
  });

  it.each([
    ['a bounce that is not permanent', { type: 'bounce', email: 'ada@example.org', permanent: false }],
  ])('returns 200 for %s, and does nothing', async (_, body) => {
    expect((await send(body)).body).toEqual({ data: { reports: 0 }, object: 'mail-hook' });
    expect(await suppressed()).toEqual({});
  });

  it.each([
    ['no address', { type: 'bounce' }, 'email'],
    ['an invalid address', { type: 'complaint', email: 'ada' }, 'email'],
    [
      'an invalid value of permanent',
      { type: 'bounce', email: 'ada@example.org', permanent: 'no' },
      'permanent',
    ],
    [
      'a message id that is not a string',
      { type: 'bounce', email: 'ada@example.org', messageId: 7 },
      'messageId',
    ],
    ['an unknown format', { hello: 'world' }, ''],
    ['a string', 'bounce', ''],
  ])('returns 400 for %s', async (_, body, path) => {
    const { status, body: answered } = await send(body);
    expect([status, answered.error.issues[0].path]).toEqual([400, path]);
  });

  it('returns 400, 413 and 415 for invalid bodies', async () => {
    const ask = (body: string, type: string) =>
      stranger().request('POST', hook, body, { 'Content-Type': type });
    expect((await ask('{', 'application/json')).status).toBe(400);
    expect((await ask('type=bounce', 'application/x-www-form-urlencoded')).status).toBe(415);
    expect((await ask(JSON.stringify({ a: 'x'.repeat(1_100_000) }), 'application/json')).status).toBe(413);
    expect((await stranger().request('GET', hook)).status).toBe(404);
  });
});

it('Postmark: hard bounces and complaints suppress, other events do not', async () => {
  for (const email of ['ada@example.org', 'grace@example.org']) await contact(email);
  expect((await send(postmark('ada@example.org'))).status).toBe(200);
  for (const Type of ['SoftBounce', 'Transient', 'DnsError', 'Blocked', 'AutoResponder']) {
    expect((await send(postmark('chico@example.org', { Type }))).status).toBe(200);
  }
  for (const RecordType of ['Delivery', 'Open', 'SubscriptionChange']) {
    expect((await send({ RecordType, Recipient: 'chico@example.org' })).status).toBe(200);
  }
  const complaint = { RecordType: 'SpamComplaint', Type: 'SpamComplaint', TypeCode: 512, ID: 42 };
  expect((await send(postmark('grace@example.org', complaint))).status).toBe(200);
  expect(await suppressed()).toEqual({ 'ada@example.org': 'BOUNCED', 'grace@example.org': 'COMPLAINED' });
  expect((await reports()).map(([type]) => type)).toEqual(['ContactBounced', 'ContactComplained']);
  expect((await send(postmark('ada', {}))).body.error.issues[0].path).toBe('Email');
});

it('SendGrid: uses the relevant events of a batch and ignores the others', async () => {
  const names = ['ada', 'grace', 'chico', 'rachel', 'wangari'];
  const contactIds = new Map<string, string>();
  for (const name of names) contactIds.set(name, await contact(`${name}@example.org`));
  const id = messageId();
  const batch = [
    sendGrid('wangari@example.org', { event: 'delivered', response: '250 OK' }),
    sendGrid('ada@example.org', { type: 'bounce', 'smtp-id': `<${id}>` }),
    sendGrid('wangari@example.org', { type: 'blocked' }),
    sendGrid('wangari@example.org', { event: 'deferred', response: '450 try again later' }),
    sendGrid('wangari@example.org', { event: 'somethingNew' }),
    sendGrid('grace@example.org', { event: 'spamreport' }),
    sendGrid('chico@example.org', { event: 'dropped', reason: 'Bounced Address' }),
    sendGrid('wangari@example.org', { event: 'dropped', reason: 'Unsubscribed Address' }),
  ];
  const broken = [...batch, 7, sendGrid('rachel'), sendGrid('rachel@example.org')];
  const { status, body } = await send(broken);
  expect([status, body.error.issues.map(({ path }: { path: string }) => path)]).toEqual([
    400,
    ['[8]', '[9].email'],
  ]);
  const expected = {
    'ada@example.org': 'BOUNCED',
    'grace@example.org': 'COMPLAINED',
    'chico@example.org': 'BOUNCED',
    'rachel@example.org': 'BOUNCED',
    'wangari@example.org': 'UNSUBSCRIBED',
  };
  expect(await suppressed()).toEqual(expected);
  expect((await send(batch)).body.data).toEqual({ reports: 4 });
  expect(await suppressed()).toEqual(expected);
  expect(await reports()).toHaveLength(4);
  expect(await reports()).toContainEqual([
    'ContactBounced',
    { contactId: contactIds.get('ada'), messageId: id },
  ]);
});

it('Mailgun: permanent failures and complaints suppress, and repeats of an event change nothing', async () => {
  const contactId = await contact('ada@example.org');
  const id = messageId();
  const failed = mailgun('ada@example.org', { message: { headers: { 'message-id': id } } });
  expect((await send(mailgun('ada@example.org', { severity: 'temporary' }))).body.data).toEqual({
    reports: 0,
  });
  expect((await send(mailgun('ada@example.org', { event: 'opened' }))).body.data).toEqual({ reports: 0 });
  expect((await send(failed)).status).toBe(200);
  expect(await suppressed()).toEqual({ 'ada@example.org': 'BOUNCED' });
  expect(await reports()).toEqual([['ContactBounced', { contactId, messageId: id }]]);
  await client.delete('suppression.delete-suppression', { email: 'ada@example.org' });
  expect((await send(failed)).status).toBe(200);
  expect(await suppressed()).toEqual({});
  expect((await send(mailgun('ada@example.org', { event: 'complained', id: 'other' }))).status).toBe(200);
  expect(await suppressed()).toEqual({ 'ada@example.org': 'COMPLAINED' });
});

describe('a contact who unsubscribes at the provider', () => {
  const preferences = (topics: string[], unsubscribeAll: boolean) => ({
    eventType: 'Subscription',
    notificationType: undefined,
    mail: { destination: ['ada@example.org'] },
    subscription: {
      source: 'UnsubscribeHeader',
      newTopicPreferences: {
        unsubscribeAll,
        topicSubscriptionStatus: topics.map((subscriptionStatus) => ({
          topicName: 'News',
          subscriptionStatus,
        })),
      },
    },
  });
  const changed = (SuppressSending: boolean, SuppressionReason: string | null = 'ManualSuppression') => ({
    RecordType: 'SubscriptionChange',
    Recipient: 'ada@example.org',
    Origin: 'Recipient',
    SuppressSending,
    SuppressionReason,
  });

  it.each<[string, unknown, string | undefined]>([
    ['SendGrid', [sendGrid('ada@example.org', { event: 'unsubscribe' })], 'UNSUBSCRIBED'],
    ['SendGrid, from a group', [sendGrid('ada@example.org', { event: 'group_unsubscribe' })], 'UNSUBSCRIBED'],
    [
      'SendGrid, resubscribed to a group',
      [sendGrid('ada@example.org', { event: 'group_resubscribe' })],
      undefined,
    ],
    ['Mailgun', mailgun('ada@example.org', { event: 'unsubscribed', severity: undefined }), 'UNSUBSCRIBED'],
    ['Postmark', changed(true), 'UNSUBSCRIBED'],
    ['Postmark, after a bounce', changed(true, 'HardBounce'), 'BOUNCED'],
    ['Postmark, after a complaint', changed(true, 'SpamComplaint'), 'COMPLAINED'],
    ['Postmark, reactivated', changed(false, null), undefined],
    ['own format', { type: 'unsubscribe', email: 'ada@example.org' }, 'UNSUBSCRIBED'],
    ['Amazon SES', sns(ses('x@example.org', preferences([], true))), 'UNSUBSCRIBED'],
    [
      'Amazon SES, from a topic',
      sns(ses('x@example.org', preferences(['OptIn', 'OptOut'], false))),
      'UNSUBSCRIBED',
    ],
    ['Amazon SES, to a topic', sns(ses('x@example.org', preferences(['OptIn'], false))), undefined],
  ])('is suppressed, without another event: %s', async (name, body, reason) => {
    await contact('ada@example.org');
    for (let times = 0; times < 2; times += 1)
      expect((await send(body, name.startsWith('Amazon') ? TEXT : JSON_TYPE)).status).toBe(200);
    expect(await suppressed()).toEqual(reason === undefined ? {} : { 'ada@example.org': reason });
    if (reason === 'UNSUBSCRIBED') expect(await reports()).toEqual([]);
  });
});

it('a foreign message id is never stored in the history', async () => {
  const contactId = await contact('ada@example.org');
  const foreign = `lovelace.${uuidv7()}@mail.example.org`;
  await send({ type: 'bounce', email: 'ada@example.org', messageId: foreign });
  expect(await reports()).toEqual([['ContactBounced', { contactId, messageId: null }]]);
});

describe('Amazon SES through SNS', () => {
  it.each(['1', '2'])(
    'with signature version %s, permanent bounces and complaints suppress',
    async (SignatureVersion) => {
      for (const name of ['ada', 'grace', 'chico']) await contact(`${name}@example.org`);
      const id = messageId();
      const named = ses('Ada Lovelace <ada@example.org>', {
        mail: { commonHeaders: { messageId: `<${id}>` } },
      });
      const bounced = sns(named, { SignatureVersion, Subject: 'Amazon SES' });
      expect((await send(bounced, TEXT)).body.data).toEqual({ reports: 1 });
      expect((await send(bounced, TEXT)).status).toBe(200);
      const complaint = {
        userAgent: 'ExampleCorp',
        complainedRecipients: [{ emailAddress: 'grace@example.org' }],
      };
      const complained = { notificationType: undefined, eventType: 'Complaint', complaint };
      expect((await send(sns(ses('x@example.org', complained), { SignatureVersion }), TEXT)).status).toBe(
        200,
      );
      for (const other of [
        ses('chico@example.org', { bounce: { bounceType: 'Transient' } }),
        ses('chico@example.org', { notificationType: 'Delivery' }),
        ses('chico@example.org', {
          notificationType: 'Complaint',
          complaint: {
            complaintFeedbackType: 'not-spam',
            complainedRecipients: [{ emailAddress: 'chico@example.org' }],
          },
        }),
        'Successfully validated SNS topic for Amazon SES event publishing.',
      ]) {
        expect((await send(sns(other, { SignatureVersion }), TEXT)).body.data).toEqual({ reports: 0 });
      }
      expect(await suppressed()).toEqual({ 'ada@example.org': 'BOUNCED', 'grace@example.org': 'COMPLAINED' });
      expect((await reports())[0]![1]).toMatchObject({ messageId: id });
      // The certificate is cached.
      expect(fetched.length).toBeLessThanOrEqual(1);
    },
  );

  it('a subscription is confirmed only at Amazon', async () => {
    const confirmation = (SubscribeURL: string) =>
      sns('You have chosen to subscribe to the topic', {
        Type: 'SubscriptionConfirmation',
        Token: '2336412f37',
        SubscribeURL,
      });
    const url =
      'https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&TopicArn=arn&Token=2336412f37';
    expect((await send(confirmation(url), TEXT)).status).toBe(200);
    expect(fetched).toContain(url);
    for (const elsewhere of [
      'https://example.org/?Action=ConfirmSubscription',
      'http://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription',
      'https://sns.eu-west-1.amazonaws.com.example.org/?Action=ConfirmSubscription',
      'https://sns.s3.amazonaws.com/?Action=ConfirmSubscription',
      'https://sns.s3-eu-west-1.amazonaws.com/?Action=ConfirmSubscription',
      'https://sns.eu-west-1.amazonaws.com/?Action=DeleteTopic',
      'http://169.254.169.254/latest/meta-data',
    ]) {
      expect([elsewhere, (await send(confirmation(elsewhere), TEXT)).status]).toEqual([elsewhere, 400]);
      expect(fetched).not.toContain(elsewhere);
    }
  });

  it.each([
    ['a changed message', { Message: JSON.stringify(ses('grace@example.org')) }],
    ['no signature', { Signature: undefined }],
    ['an invalid signature', { Signature: 'AAAA' }],
    ['an unknown version', { SignatureVersion: '3' }],
    [
      'a certificate of another host',
      { SigningCertURL: 'https://example.org/SimpleNotificationService-01.pem' },
    ],
    [
      'a certificate of the machine itself',
      { SigningCertURL: 'http://127.0.0.1/SimpleNotificationService-01.pem' },
    ],
    ['a certificate at another port', { SigningCertURL: CERTIFICATE.replace('.com/', '.com:8443/') }],
    [
      'a URL that is not a certificate',
      { SigningCertURL: 'https://sns.eu-west-1.amazonaws.com/?Action=Publish' },
    ],
    ['a certificate in a bucket called sns', { SigningCertURL: CERTIFICATE.replace('eu-west-1', 's3') }],
    ['a certificate in a foreign bucket', { SigningCertURL: CERTIFICATE.replace('sns.', 'bucket.s3.') }],
    ['a URL with a user name', { SigningCertURL: CERTIFICATE.replace('sns.', 'a@sns.') }],
  ])('returns 400 for %s, and sends no request elsewhere', async (_, changed) => {
    await contact('ada@example.org');
    const { status, body } = await send(sns(ses('ada@example.org'), {}, changed), TEXT);
    expect([status, body.error.code]).toEqual([400, 'BAD_REQUEST']);
    expect(await suppressed()).toEqual({});
    expect(fetched.filter((url) => url !== CERTIFICATE)).toEqual([]);
  });

  it('returns 503 while Amazon is unreachable, and works again afterwards', async () => {
    const SigningCertURL = CERTIFICATE.replace('0123', 'unreachable');
    const { status, headers } = await send(sns(ses('ada@example.org'), { SigningCertURL }), TEXT);
    expect([status, headers.get('Retry-After')]).toEqual([503, '5']);
    expect((await send(sns(ses('ada@example.org')), TEXT)).status).toBe(200);
  });
});
