import { html, type Html } from '#libs/pages';
import { invalid, type Page as PageOfRecords } from '#libs/rpc';
import { type DashboardWords } from '#locales';
import { faultIn } from '../faults.js';
import {
  type Blocked,
  RECIPIENT_DETAILS,
  RECIPIENT_STATUSES,
  type RecipientDetail,
  type RecipientRecord,
  Recipients,
  Starts,
} from '../../broadcasts/index.js';
import { ContactsByIds } from '../../contacts/index.js';
import { nameOf } from '../contacts/contact.js';
import { type Asked, filteredBy } from '../list-pages.js';
import { type PageDefinition } from '../page.js';
import { ConfirmForm, ButtonLink, ButtonOf, Actions, FormOf, RefusalOf, timeIn } from '../parts.js';
import { TimeField, timeZoneOf, typedTime } from '../time-zone.js';
import { type Api, type FormInput, type PageContext } from '../page-context.js';
import { sendTest, TestForm } from './test-form.js';
import { type BroadcastRecord, broadcasts, faultWithin, hasOfferedAddress, nameFaults } from './broadcast.js';
import { type AudiencePreview, ReachOf, whyNobody } from './reach.js';

/** Its id is the contact's, because each contact receives a broadcast only once. */
type Recipient = RecipientRecord & { id?: string; name?: string; email?: string | null };

const DETAILS = new Map(
  Object.entries(RECIPIENT_DETAILS).map(([name, text]) => [text as string, name as RecipientDetail]),
);

export const sendingPages: PageDefinition[] = [
  broadcasts.page('audience', {
    needs: 'broadcast:read',
    title: ({ broadcasts }) => broadcasts.audience.title,
    content: async (context, broadcast) =>
      ReachOf(context.words, broadcast.audience, await audienceOf(context)),
  }),
  {
    ...broadcasts.page('test', {
      needs: 'broadcast:send',
      title: ({ broadcasts }) => broadcasts.test.title,
      content: (context) => {
        nameFaults(context, ['to']);
        return TestForm(context);
      },
    }),
    act: async ({ words, address, form, api }) => {
      const broadcastId = address.params.broadcast!;
      await sendTest({ words, form, api }, 'broadcast.send-test', { broadcastId });
      return { to: `broadcasts/${broadcastId}`, done: 'broadcasts.tested' };
    },
  },
  {
    ...broadcasts.page('send', {
      needs: 'broadcast:send',
      title: ({ broadcasts }, { name }) => `${broadcasts.send.title}: ${name}`,
      content: async (context, broadcast) => {
        const { words, address, api } = context;
        const { send, audience } = words.broadcasts;
        nameFaults(context, ['sendAt']);
        const [preview, { mailFrom, postalAddress }, blockers, timeZone] = await Promise.all([
          audienceOf(context),
          senderOf(api),
          api.find(Starts).blockers(api.organizationId, broadcast.id, broadcast),
          timeZoneOf(context),
        ]);
        const hasPlaceholder = hasOfferedAddress(broadcast.content);
        const isBlocked = (blockers.length > 0 || hasPlaceholder) && !context.form.refusal;
        const { total } = preview;
        const isNamed = mailFrom !== null && postalAddress !== null;
        const toSend = isBlocked ? null : Sending(context, timeZone, total);
        const mayWrite = context.person.may('broadcast:write');
        const toEdit = ButtonLink(address, `broadcasts/${broadcast.id}/edit`, words.broadcasts.edit);
        const linkTo = (path: string, text: string) =>
          html`<p><a href="${address.path(path)}">${text}</a></p>`;
        return html`<div class="text">
          <p class="lead">${total === 0 ? whyNobody(words, broadcast.audience, preview) : send.text(total)}</p>
          ${total === 0 ? linkTo(`broadcasts/${broadcast.id}/audience`, audience.title) : null}
          ${isBlocked ? BlockersOf(words, blockers, hasPlaceholder) : null} ${isBlocked && mayWrite ? Actions([toEdit]) : null}
          ${broadcast.status === 'SCHEDULED' ? Rescheduling(context, timeZone, broadcast, isBlocked ? 0 : total) : toSend}
          ${isNamed ? null : linkTo('organization/mails', send.organization)}
          ${linkTo(`broadcasts/${broadcast.id}`, words.cancel)}
        </div>`;
      },
    }),
    act: async (context) => {
      const broadcastId = context.address.params.broadcast!;
      const timeZone = await timeZoneOf(context);
      const sendAt = momentOf(context.form, timeZone, await broadcasts.find(context));
      await context.api.run('broadcast.send-broadcast', { broadcastId, sendAt });
      const done = sendAt === undefined ? 'broadcasts.sent' : 'broadcasts.scheduled';
      return { to: `broadcasts/${broadcastId}`, done };
    },
  },
  step('pause', 'paused'),
  step('resume', 'resumed'),
  broadcasts.step('cancel', {
    needs: 'broadcast:send',
    ask: ({ words }, { name }) => {
      const { cancel, cancelTitle, cancelText } = words.broadcasts.steps;
      return { title: cancelTitle(name), text: cancelText, button: cancel, isFinal: true };
    },
    done: 'cancelled',
  }),
  ...broadcasts.listBelow<Recipient>('recipients', {
    operation: listRecipients,
    title: ({ broadcasts }) => broadcasts.recipients.title,
    text: ({ broadcasts }) => broadcasts.recipients.text,
    empty: ({ broadcasts }) => broadcasts.recipients.none,
    search: ({ contacts }) => contacts.search,
    searchNeeds: 'contact:read',
    ...filteredBy(
      'status',
      ({ state }) => state,
      ({ broadcasts }) =>
        RECIPIENT_STATUSES.map((value) => ({ value, text: broadcasts.recipients.statuses[value] })),
    ),
    before: async (context) => {
      const { status, recipients } = await broadcasts.find(context);
      if (!context.person.may('broadcast:send') || (status !== 'SENDING' && status !== 'SENT') || !recipients)
        return null;
      const { retryFailed, retryInDoubt } = context.words.broadcasts.steps;
      const path = `broadcasts/${context.address.params.broadcast!}`;
      return Actions([
        recipients.failed ? ButtonOf(context.address, `${path}/retry-failed`, retryFailed) : null,
        // Asks for confirmation, because recipients may get the email twice.
        recipients.inDoubt ? ButtonLink(context.address, `${path}/retry-in-doubt`, retryInDoubt, true) : null,
      ]);
    },
    complete: async ({ person, api }, recipients) => {
      const ids = recipients.map(({ contactId }) => contactId);
      const contacts = person.may('contact:read')
        ? await api.find(ContactsByIds).find(api.organizationId, ids)
        : new Map<string, never>();
      return recipients.map((one) => {
        const contact = contacts.get(one.contactId);
        const known = contact ? { name: nameOf(contact), email: contact.email } : {};
        return { ...one, id: one.contactId, ...known };
      });
    },
    columns: [
      {
        name: ({ broadcasts }) => broadcasts.recipients.who,
        cell: ({ contactId, name }, { words, address }) =>
          name === undefined
            ? words.broadcasts.recipients.gone
            : html`<a href="${address.path(`contacts/${contactId}`)}">${name}</a>`,
        exported: ({ name = null }) => name,
      },
      { name: ({ email }) => email, cell: ({ email = null }) => email, isObvious: true },
      {
        name: ({ state }) => state,
        cell: ({ status }, { words }) => words.broadcasts.recipients.statuses[status],
        badge: ({ status }) => status,
        isObvious: true,
      },
      {
        name: ({ broadcasts }) => broadcasts.recipients.at,
        cell: ({ at }) => (at === null ? null : new Date(at)),
        exported: ({ at }) => at && new Date(at).toISOString(),
        isObvious: true,
      },
      {
        name: ({ broadcasts }) => broadcasts.recipients.detail,
        // For an email that was sent, it is the message's id, which only the export contains.
        cell: ({ status, detail }, { words }) =>
          status === 'SENT' ? null : detail && detailIn(words, detail),
        exported: ({ detail }) => detail,
      },
    ],
  }),
  retry('retry-failed', 'FAILED'),
  retry('retry-in-doubt', 'IN_DOUBT'),
];

/**
 * The operation does not support search. So this searches contacts (at most 100) and looks them up among the
 * recipients.
 */
async function listRecipients(
  { address, api }: PageContext,
  { q, ...asked }: Asked,
): Promise<PageOfRecords<Recipient>> {
  if (typeof q !== 'string') return api.run('broadcast.list-recipients', asked);
  const { organizationId } = api;
  const { params } = address;
  const { records } = await api.run<PageOfRecords<{ id: string }>>('contact.list-contacts', {
    organizationId,
    q,
    limit: 100,
  });
  const ids = records.map(({ id }) => id);
  const found = await api
    .find(Recipients)
    .among(organizationId, params.broadcast!, ids, address.query('status'));
  return { records: found, pagination: { cursor: null, hasMore: false } };
}

/** Responses of mail servers are shown unchanged. */
function detailIn({ broadcasts, faults }: DashboardWords, detail: string): string {
  if (detail.startsWith('The template is invalid')) return faultIn(faults, `TEMPLATE_INVALID: ${detail}`);
  const own = DETAILS.get(detail);
  return own === undefined ? detail : broadcasts.recipients.details[own];
}

/** What must be corrected before it can be sent. Drafts show it too, so that no one learns it only when they send. */
export function BlockersOf(
  words: DashboardWords,
  blockers: readonly Blocked[],
  hasPlaceholder = false,
): Html {
  return html`<h2>${words.broadcasts.send.blocked}</h2>
    <ul>
      ${blockers.map(
        ({ blocker, path, message }) =>
          html`<li>${faultWithin(words, path, faultIn(words.faults, `${blocker}: ${message}`))}</li>`,
      )}
      ${hasPlaceholder ? html`<li>${words.broadcasts.send.placeholder}</li>` : null}
    </ul>`;
}

function Sending(context: PageContext, timeZone: string, total: number): Html | null {
  if (total === 0) return RefusalOf(context.form);
  const { send } = context.words.broadcasts;
  return FormOf(context.form, { fields: [WhenField(context, timeZone)], button: send.button(total) });
}

/** Two separate forms, so that rescheduling never sends immediately by mistake. */
function Rescheduling(
  context: PageContext,
  timeZone: string,
  broadcast: BroadcastRecord,
  total: number,
): Html {
  const { words } = context;
  const { send } = words.broadcasts;
  return html`<p>${send.planned(timeIn(words, broadcast.sendAt!, timeZone))}</p>
    ${FormOf(context.form, { fields: [WhenField(context, timeZone, broadcast.sendAt)], button: send.change })}
    ${total === 0 ? null : ButtonOf(context.address, `broadcasts/${broadcast.id}/send`, send.now(total))}`;
}

/** @param planned the scheduled time. If undefined, the field may be left empty to send now. */
function WhenField({ words, form }: PageContext, timeZone: string, planned?: string | null): Html {
  const { send } = words.broadcasts;
  const isNew = planned === undefined;
  const label = send.when(timeZone);
  return TimeField(form, timeZone, {
    ...{ name: 'sendAt', label, value: planned, isOptional: isNew },
    ...(isNew && { hint: send.whenHint }),
  });
}

/**
 * When to send; undefined means now.
 *
 * @throws RpcError BAD_REQUEST if the field is empty while rescheduling, or in the past.
 */
function momentOf(
  form: FormInput,
  timeZone: string,
  { status, sendAt: planned }: BroadcastRecord,
): string | undefined {
  const isScheduled = status === 'SCHEDULED';
  const sendAt = typedTime(form, 'sendAt', timeZone, isScheduled ? planned : null);
  if (sendAt === null) {
    // When rescheduling, a separate button sends now.
    if (isScheduled && form.has('sendAt')) throw invalid([{ path: 'sendAt', message: 'is required' }]);
    return undefined;
  }
  // For a past time, the operation would send immediately. A mistyped year must not cause that.
  if (Date.parse(sendAt) <= Date.now()) throw invalid([{ path: 'sendAt', message: 'must be in the future' }]);
  return sendAt;
}

function audienceOf({ address, api }: PageContext): Promise<AudiencePreview> {
  return api.run<AudiencePreview>('broadcast.preview-audience', {
    broadcastId: address.params.broadcast,
  });
}

/** Reversible, so its button acts without confirmation. Opening the page's address directly asks for one. */
function step(name: 'pause' | 'resume', done: string): PageDefinition {
  return broadcasts.step(name, {
    needs: 'broadcast:send',
    ask: ({ words }, broadcast) => {
      const button = words.broadcasts.steps[name];
      return { title: `${button}: ${broadcast.name}`, text: broadcast.name, button };
    },
    done,
  });
}

function retry(path: string, status: 'FAILED' | 'IN_DOUBT'): PageDefinition {
  return {
    path: `broadcasts/:broadcast/${path}`,
    needs: 'broadcast:send',
    show: async (context) => {
      const { id, name, recipients } = await broadcasts.find(context);
      const { title: text } = context.words.broadcasts.recipients;
      return askToRetry(context, status, {
        section: 'broadcasts',
        name,
        counts: recipients,
        back: { path: `broadcasts/${id}/recipients`, text },
      });
    },
    act: async ({ address, api }) => {
      await api.run('broadcast.retry-recipients', {
        broadcastId: address.params.broadcast,
        status,
      });
      return { to: `broadcasts/${address.params.broadcast!}/recipients`, done: 'broadcasts.retried' };
    },
  };
}

/** Asks whether to send emails again: those of a broadcast, or those that thank signers. */
export function askToRetry(
  context: PageContext,
  status: 'FAILED' | 'IN_DOUBT',
  {
    section,
    name,
    counts,
    back,
  }: {
    section: 'broadcasts' | 'petitions';
    name: string;
    counts: { failed: number | null; inDoubt: number | null } | null;
    back: { path: string; text: string };
  },
) {
  const { retryFailed, retryInDoubt, retrying } = context.words.broadcasts.steps;
  const isFailed = status === 'FAILED';
  const many = (isFailed ? counts?.failed : counts?.inDoubt) ?? 0;
  return context.view.page({
    section,
    title: `${isFailed ? retryFailed : retryInDoubt}: ${name}`,
    ...(many === 0 ? { back: { href: context.address.path(back.path), text: back.text } } : {}),
    content:
      many === 0
        ? html`<p>${retrying.nobody}</p>`
        : ConfirmForm(context, {
            text: isFailed ? retrying.failed(many) : retrying.inDoubt(many),
            button: retrying.button(many),
            back: back.path,
            isFinal: !isFailed,
          }),
  });
}

function senderOf(api: Api): Promise<{ mailFrom: object | null; postalAddress: string | null }> {
  return api.run('organization.get-organization', { organizationId: api.organizationId });
}
