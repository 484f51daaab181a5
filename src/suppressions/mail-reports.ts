import { isObject, type JsonObject } from '#libs/event-store';
import { comparableEmail, isEmailAddress, type Issue } from '#libs/rpc';
import { type MailReport } from './suppressions.js';

/** `id`: the provider's id of the event, which stays the same in retries. */
export type IdentifiedReport = MailReport & { id: string | null };

/** The content of a provider's message: permanent bounces, complaints and unsubscribes, and any invalid parts. */
export type Reports = { reports: IdentifiedReport[]; issues: Issue[] };

type Found = { kind: MailReport['kind']; email: unknown; path: string; messageId?: unknown; id?: unknown };

const FORMS =
  'must be a report by Postmark, SendGrid, Mailgun or Amazon SES (through SNS, without raw delivery), or { ' +
  'type: "bounce", "complaint" or "unsubscribe", email }';

/**
 * Reads the formats of Postmark, SendGrid and Mailgun, and our own. Deliveries, opens and delays are ignored.
 */
export function readReports(body: unknown): Reports {
  if (Array.isArray(body)) {
    return collected(
      body.flatMap((event: unknown, n) => (isObject(event) ? sendGrid(event, `[${n}].`) : [])),
      body.flatMap((event: unknown, n) =>
        isObject(event) ? [] : [{ path: `[${n}]`, message: 'must be an object' }],
      ),
    );
  }
  if (isObject(body)) {
    if ('RecordType' in body) return collected(postmark(body));
    if (isObject(body['event-data'])) return collected(mailgun(body['event-data']));
    const kind = OWN_KINDS.find((one) => one === body.type);
    if (kind) return own(body, kind);
  }
  return { reports: [], issues: [{ path: '', message: FORMS }] };
}

const OWN_KINDS = ['bounce', 'complaint', 'unsubscribe'] as const;

/** Reads the Amazon SES content of an SNS message, which has two formats: notification and published event. */
export function readSesReports(message: unknown, id: string): Reports {
  if (!isObject(message)) return { reports: [], issues: [] };
  const { bounce, complaint, subscription, mail } = message;
  const messageId = isObject(mail) && isObject(mail.commonHeaders) ? mail.commonHeaders.messageId : undefined;
  const found = (kind: MailReport['kind'], recipients: unknown, path: string): Found[] =>
    (Array.isArray(recipients) ? (recipients as unknown[]) : [undefined]).map((recipient, n) => {
      const email = isObject(recipient) ? recipient.emailAddress : undefined;
      return { kind, email, path: `${path}[${n}].emailAddress`, messageId, id };
    });
  const kind = message.notificationType ?? message.eventType;
  if (kind === 'Bounce' && isObject(bounce) && bounce.bounceType === 'Permanent') {
    return collected(found('bounce', bounce.bouncedRecipients, 'bounce.bouncedRecipients'));
  }
  // `not-spam`: a recipient moved the message out of the spam folder.
  if (kind === 'Complaint' && isObject(complaint) && complaint.complaintFeedbackType !== 'not-spam') {
    return collected(found('complaint', complaint.complainedRecipients, 'complaint.complainedRecipients'));
  }
  // Unsubscribing from one topic counts as unsubscribing from all: an organization has a single list in SES.
  if (kind === 'Subscription' && isObject(subscription) && optsOut(subscription.newTopicPreferences)) {
    const [email] = isObject(mail) && Array.isArray(mail.destination) ? (mail.destination as unknown[]) : [];
    return collected([{ kind: 'unsubscribe', email, path: 'mail.destination[0]', messageId, id }]);
  }
  return collected([]);
}

function optsOut(preferences: unknown): boolean {
  if (!isObject(preferences)) return false;
  const { unsubscribeAll, topicSubscriptionStatus: topics } = preferences;
  const isOut = (topic: unknown) => isObject(topic) && topic.subscriptionStatus === 'OptOut';
  return unsubscribeAll === true || (Array.isArray(topics) && topics.some(isOut));
}

/** Why Postmark stopped sending to an address (Subscription change webhook). */
const POSTMARK_STOPPED: { [reason: string]: MailReport['kind'] } = {
  HardBounce: 'bounce',
  SpamComplaint: 'complaint',
  ManualSuppression: 'unsubscribe',
};

/** Types after which Postmark itself stops sending (Bounce API, "Bounce types"). */
const POSTMARK_PERMANENT = ['HardBounce', 'BadEmailAddress'];

function postmark(report: JsonObject): Found[] {
  const { RecordType, Type, Email, ID, Recipient, SuppressSending, SuppressionReason } = report;
  if (RecordType === 'SubscriptionChange') {
    const reason = typeof SuppressionReason === 'string' ? SuppressionReason : '';
    const kind = POSTMARK_STOPPED[reason] ?? 'unsubscribe';
    return SuppressSending === true ? [{ kind, email: Recipient, path: 'Recipient' }] : [];
  }
  const found = { email: Email, path: 'Email', id: ID };
  if (RecordType === 'SpamComplaint' || Type === 'SpamComplaint') return [{ kind: 'complaint', ...found }];
  const isPermanent = RecordType === 'Bounce' && POSTMARK_PERMANENT.includes(Type as string);
  return isPermanent ? [{ kind: 'bounce', ...found }] : [];
}

/** Messages that SendGrid drops without trying. */
const SENDGRID_DROPPED: { [reason: string]: MailReport['kind'] } = {
  'Bounced Address': 'bounce',
  Invalid: 'bounce',
  'Spam Reporting Address': 'complaint',
  'Unsubscribed Address': 'unsubscribe',
};

/** A bounce of type `blocked` means that the server rejected this message, not the address. */
function sendGrid(event: JsonObject, path: string): Found[] {
  const { event: name, type, email, reason, sg_event_id: id } = event;
  const found = { email, path: `${path}email`, messageId: event['smtp-id'], id };
  const dropped = typeof reason === 'string' ? SENDGRID_DROPPED[reason] : undefined;
  if (name === 'bounce' && type !== 'blocked') return [{ kind: 'bounce', ...found }];
  if (name === 'dropped' && dropped) return [{ kind: dropped, ...found }];
  if (name === 'unsubscribe' || name === 'group_unsubscribe') return [{ kind: 'unsubscribe', ...found }];
  return name === 'spamreport' ? [{ kind: 'complaint', ...found }] : [];
}

function mailgun({ event, severity, recipient, message, id }: JsonObject): Found[] {
  const headers = isObject(message) && isObject(message.headers) ? message.headers : {};
  const found = { email: recipient, path: 'event-data.recipient', messageId: headers['message-id'], id };
  if (event === 'failed' && severity === 'permanent') return [{ kind: 'bounce', ...found }];
  if (event === 'unsubscribed') return [{ kind: 'unsubscribe', ...found }];
  return event === 'complained' ? [{ kind: 'complaint', ...found }] : [];
}

function own({ email, permanent = true, messageId = null }: JsonObject, kind: MailReport['kind']): Reports {
  const issues: Issue[] = [];
  if (typeof permanent !== 'boolean') issues.push({ path: 'permanent', message: 'must be true or false' });
  if (messageId !== null && typeof messageId !== 'string') {
    issues.push({ path: 'messageId', message: 'must be a string' });
  }
  const { reports, issues: others } = collected([{ kind, email, path: 'email', messageId }]);
  if (issues.length > 0 || others.length > 0) return { reports: [], issues: [...others, ...issues] };
  return { reports: kind === 'bounce' && permanent === false ? [] : reports, issues };
}

function collected(found: readonly Found[], issues: readonly Issue[] = []): Reports {
  const all: Reports = { reports: [], issues: [...issues] };
  for (const { kind, path, messageId, id, ...rest } of found) {
    const email = addressIn(rest.email);
    if (email === undefined) {
      all.issues.push({ path, message: 'must be an email address' });
      continue;
    }
    const identity = typeof id === 'string' || typeof id === 'number' ? String(id) : null;
    all.reports.push({ kind, email, messageId: ownMessageId(messageId, email), id: identity });
  }
  return all;
}

/** A plain address, or as in a message header: `Ada Lovelace <ada@example.org>`. */
function addressIn(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  const [, inside] = /<([^<>]*)>\s*$/.exec(value) ?? [];
  const email = (inside ?? value).trim();
  return isEmailAddress(email) ? email : undefined;
}

/** The ids that this server gives its messages, now and in earlier versions. */
const UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
const OWN = new RegExp(
  `^<?((?:b[\\w-]{43}|broadcast\\.${UUID}\\.${UUID}|(?:invitation|sign-in|signature|webhook-disabled)\\.${UUID})@[\\w.-]{1,253})>?$`,
);

/** The history is permanent, so values that may be an address are not stored. */
function ownMessageId(value: unknown, email: string): string | null {
  const [, id] = typeof value === 'string' ? (OWN.exec(value.trim()) ?? []) : [];
  return id === undefined || comparableEmail(id) === comparableEmail(email) ? null : id;
}
