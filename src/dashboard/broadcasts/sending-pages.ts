import { html, type Html } from '#libs/pages';
import { invalid, type Page as PageOfRecords, RpcError } from '#libs/rpc';
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
import { nameOf } from '../contacts/pages.js';
import { FilterField, listPages } from '../list-pages.js';
import { type PageDefinition } from '../page.js';
import {
  ConfirmForm,
  ButtonLink,
  ButtonOf,
  Actions,
  FormOf,
  numberIn,
  RefusalOf,
  Table,
  TextField,
  timeIn,
} from '../parts.js';
import { type Asked, type PageContext } from '../page-context.js';
import { type BroadcastRecord, broadcastOf, faultWithin, nameFaults, toBroadcast } from './broadcast.js';

const EXCLUDED = [
  'unsubscribed',
  'suppressed',
  'withoutAddress',
  'excluded',
  'filtered',
  'duplicate',
  'unknown',
] as const;
type AudiencePreview = { total: number; excluded: Record<(typeof EXCLUDED)[number], number> };

/** Its id is the contact's, because each contact receives a broadcast only once. */
type Recipient = RecipientRecord & { id?: string; name?: string; email?: string | null };

const DETAILS = new Map(
  Object.entries(RECIPIENT_DETAILS).map(([name, text]) => [text as string, name as RecipientDetail]),
);

export const sendingPages: PageDefinition[] = [
  {
    path: 'broadcasts/:broadcast/audience',
    needs: 'broadcast:read',
    show: async (context) => {
      const { words } = context;
      const { audience } = words.broadcasts;
      const broadcast = await broadcastOf(context);
      const preview = await audienceOf(context);
      const { total, excluded } = preview;
      const others = EXCLUDED.filter((why) => excluded[why] > 0);
      return context.page({
        section: 'broadcasts',
        back: toBroadcast(context, broadcast),
        title: audience.title,
        content: html`<p class="lead">${total === 0 ? whyNobody(context, broadcast, preview) : audience.total(total)}</p>
          ${
            others.length === 0
              ? null
              : html`<h2>${audience.why}</h2>
                  ${Table({
                    caption: audience.why,
                    columns: [{ name: audience.why }, { name: audience.people, isNumber: true }],
                    rows: others.map((why) => [audience.excluded[why], numberIn(words, excluded[why])]),
                  })}`
          }`,
      });
    },
  },
  {
    path: 'broadcasts/:broadcast/test',
    needs: 'broadcast:send',
    show: async (context) => {
      const { test } = context.words.broadcasts;
      nameFaults(context, ['to']);
      const broadcast = await broadcastOf(context);
      const fields = [
        TextField(context, { name: 'to', label: test.to, type: 'email', autocomplete: 'email', max: 254 }),
      ];
      return context.page({
        section: 'broadcasts',
        back: toBroadcast(context, broadcast),
        title: test.title,
        content: html`<div class="text">
          <p class="lead">${test.text}</p>
          ${FormOf(context, { fields, button: test.button })}
        </div>`,
      });
    },
    act: async (context) => {
      const broadcastId = context.params.broadcast!;
      const { outcomes } = await context.run<{ outcomes: { sent: boolean; detail: string }[] }>(
        'broadcast.send-test',
        {
          broadcastId,
          to: [context.typed('to') ?? ''],
        },
      );
      const failed = outcomes.find(({ sent }) => !sent);
      if (failed) throw new RpcError('BAD_REQUEST', context.words.broadcasts.test.failed(failed.detail));
      return { to: `broadcasts/${broadcastId}`, done: 'broadcasts.tested' };
    },
  },
  {
    path: 'broadcasts/:broadcast/send',
    needs: 'broadcast:send',
    show: async (context) => {
      const { words } = context;
      const { send, audience } = words.broadcasts;
      nameFaults(context, ['sendAt']);
      const broadcast = await broadcastOf(context);
      const [preview, { mailFrom, postalAddress }, blockers] = await Promise.all([
        audienceOf(context),
        senderOf(context),
        context.find(Starts).blockers(context.organizationId, broadcast.id, broadcast),
      ]);
      const isBlocked = blockers.length > 0 && !context.refusal;
      const { total } = preview;
      const isNamed = mailFrom !== null && postalAddress !== null;
      return context.page({
        section: 'broadcasts',
        back: toBroadcast(context, broadcast),
        title: `${send.title}: ${broadcast.name}`,
        content: html`<div class="text">
          <p class="lead">${total === 0 ? whyNobody(context, broadcast, preview) : send.text(total)}</p>
          ${total === 0 ? html`<p><a href="${context.path(`broadcasts/${broadcast.id}/audience`)}">${audience.title}</a></p>` : null}
          ${isBlocked ? BlockersOf(context, broadcast, blockers) : null}
          ${
            broadcast.status === 'SCHEDULED'
              ? Rescheduling(context, broadcast, isBlocked ? 0 : total)
              : isBlocked
                ? null
                : Sending(context, total)
          }
          ${isNamed ? null : html`<p><a href="${context.path('organization/mails')}">${send.organization}</a></p>`}
          <p><a href="${context.path(`broadcasts/${broadcast.id}`)}">${words.cancel}</a></p>
        </div>`,
      });
    },
    act: async (context) => {
      const broadcastId = context.params.broadcast!;
      const sendAt = momentOf(context, await broadcastOf(context));
      await context.run('broadcast.send-broadcast', { broadcastId, sendAt });
      const done = sendAt === undefined ? 'broadcasts.sent' : 'broadcasts.scheduled';
      return { to: `broadcasts/${broadcastId}`, done };
    },
  },
  step('pause', 'broadcasts.paused'),
  step('resume', 'broadcasts.resumed'),
  {
    path: 'broadcasts/:broadcast/cancel',
    needs: 'broadcast:send',
    show: async (context) => {
      const { id, name } = await broadcastOf(context);
      const { cancel, cancelTitle, cancelText } = context.words.broadcasts.steps;
      return context.page({
        section: 'broadcasts',
        title: cancelTitle(name),
        content: ConfirmForm(context, {
          text: cancelText,
          button: cancel,
          back: `broadcasts/${id}`,
          isFinal: true,
        }),
      });
    },
    act: async (context) => {
      await context.run('broadcast.cancel-broadcast', { broadcastId: context.params.broadcast });
      return { to: `broadcasts/${context.params.broadcast!}`, done: 'broadcasts.cancelled' };
    },
  },
  ...listPages<Recipient>({
    path: 'broadcasts/:broadcast/recipients',
    section: 'broadcasts',
    needs: 'broadcast:read',
    operation: listRecipients,
    isSorted: false,
    title: ({ broadcasts }) => broadcasts.recipients.title,
    text: ({ broadcasts }) => broadcasts.recipients.text,
    empty: ({ broadcasts }) => broadcasts.recipients.none,
    search: ({ contacts }) => contacts.search,
    searchNeeds: 'contact:read',
    fields: ({ params, query }) => ({ broadcastId: params.broadcast, status: query('status') }),
    filters: (context) => {
      const { broadcasts, state } = context.words;
      const choices = RECIPIENT_STATUSES.map((value) => ({
        value,
        text: broadcasts.recipients.statuses[value],
      }));
      return Promise.resolve([FilterField(context, { name: 'status', label: state, choices })]);
    },
    back: async (context) => toBroadcast(context, await broadcastOf(context)),
    before: async (context) => {
      const { status, recipients } = await broadcastOf(context);
      if (!context.may('broadcast:send') || (status !== 'SENDING' && status !== 'SENT') || !recipients)
        return null;
      const { retryFailed, retryInDoubt } = context.words.broadcasts.steps;
      const path = `broadcasts/${context.params.broadcast!}`;
      return Actions([
        recipients.failed ? ButtonOf(context, `${path}/retry-failed`, retryFailed) : null,
        // Asks for confirmation, because recipients may get the email twice.
        recipients.inDoubt ? ButtonLink(context, `${path}/retry-in-doubt`, retryInDoubt, true) : null,
      ]);
    },
    complete: async (context, recipients) => {
      const ids = recipients.map(({ contactId }) => contactId);
      const contacts = context.may('contact:read')
        ? await context.find(ContactsByIds).find(context.organizationId, ids)
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
        cell: ({ contactId, name }, context) =>
          name === undefined
            ? context.words.broadcasts.recipients.gone
            : html`<a href="${context.path(`contacts/${contactId}`)}">${name}</a>`,
        exported: ({ name = null }) => name,
      },
      { name: ({ email }) => email, cell: ({ email = null }) => email },
      {
        name: ({ state }) => state,
        cell: ({ status }, { words }) => words.broadcasts.recipients.statuses[status],
      },
      {
        name: ({ broadcasts }) => broadcasts.recipients.at,
        cell: ({ at }, { words }) => (at === null ? null : timeIn(words, at)),
        exported: ({ at }) => at && new Date(at).toISOString(),
      },
      {
        name: ({ broadcasts }) => broadcasts.recipients.detail,
        cell: ({ detail }, { words }) => detail && detailIn(words, detail),
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
  context: PageContext,
  { q, ...asked }: Asked,
): Promise<PageOfRecords<Recipient>> {
  if (typeof q !== 'string') return context.run('broadcast.list-recipients', asked);
  const { organizationId, params } = context;
  const { records } = await context.run<PageOfRecords<{ id: string }>>('contact.list-contacts', {
    organizationId,
    q,
    limit: 100,
  });
  const ids = records.map(({ id }) => id);
  const found = await context
    .find(Recipients)
    .among(organizationId, params.broadcast!, ids, context.query('status'));
  return { records: found, pagination: { cursor: null, hasMore: false } };
}

/** Why there are no recipients: none chosen, none in the chosen lists, or all excluded. */
function whyNobody(
  context: PageContext,
  { audience }: BroadcastRecord,
  { excluded }: AudiencePreview,
): string {
  const { nobody, nobodyThere, nobodyLeft } = context.words.broadcasts.audience;
  const chosen = Object.keys(audience).filter(
    (field) => field.endsWith('Ids') && !field.startsWith('exclude'),
  );
  if (!audience.all && chosen.length === 0) return nobody;
  return EXCLUDED.every((why) => excluded[why] === 0) ? nobodyThere : nobodyLeft;
}

/** Responses of mail servers are shown unchanged. */
function detailIn({ broadcasts, faults }: DashboardWords, detail: string): string {
  if (detail.startsWith('The template is invalid')) return faultIn(faults, `TEMPLATE_INVALID: ${detail}`);
  const own = DETAILS.get(detail);
  return own === undefined ? detail : broadcasts.recipients.details[own];
}

/** What must be corrected before it can be sent. Shown immediately, so that no one learns it only from a rejected form. */
function BlockersOf(context: PageContext, { id }: BroadcastRecord, blockers: readonly Blocked[]): Html {
  const { words } = context;
  const { send, edit } = words.broadcasts;
  return html`<h2>${send.blocked}</h2>
    <ul>
      ${blockers.map(
        ({ blocker, path, message }) =>
          html`<li>${faultWithin(words, path, faultIn(words.faults, `${blocker}: ${message}`))}</li>`,
      )}
    </ul>
    ${context.may('broadcast:write') ? Actions([ButtonLink(context, `broadcasts/${id}/edit`, edit)]) : null}`;
}

function Sending(context: PageContext, total: number): Html | null {
  if (total === 0) return RefusalOf(context);
  const { send } = context.words.broadcasts;
  return FormOf(context, { fields: [WhenField(context)], button: send.button(total) });
}

/** Two separate forms, so that rescheduling never sends immediately by mistake. */
function Rescheduling(context: PageContext, broadcast: BroadcastRecord, total: number): Html {
  const { words } = context;
  const { send } = words.broadcasts;
  return html`<p>${send.planned(timeIn(words, broadcast.sendAt!))}</p>
    ${FormOf(context, { fields: [WhenField(context, broadcast.sendAt)], button: send.change })}
    ${total === 0 ? null : ButtonOf(context, `broadcasts/${broadcast.id}/send`, send.now(total))}`;
}

/** @param planned the scheduled time. If undefined, the field may be left empty to send now. */
function WhenField(context: PageContext, planned?: string | null): Html {
  const { send } = context.words.broadcasts;
  return TextField(context, {
    name: 'sendAt',
    label: send.when,
    hint: planned === undefined ? send.whenHint : send.zone,
    value: planned?.slice(0, 16),
    type: 'datetime-local',
    isOptional: planned === undefined,
  });
}

/**
 * When to send; undefined means now.
 *
 * @throws RpcError BAD_REQUEST if the field is empty while rescheduling, or in the past.
 */
function momentOf(context: PageContext, { status, sendAt: planned }: BroadcastRecord): string | undefined {
  const at = context.typed('sendAt')?.slice(0, 16);
  if (at === undefined) {
    // When rescheduling, a separate button sends now.
    if (status === 'SCHEDULED' && context.form.has('sendAt'))
      throw invalid([{ path: 'sendAt', message: 'is required' }]);
    return undefined;
  }
  // Keeps the stored seconds, which the field does not show.
  const sendAt = status === 'SCHEDULED' && planned?.startsWith(at) ? planned : `${at}:00Z`;
  // For a past time, the operation would send immediately. A mistyped year must not cause that.
  if (Date.parse(sendAt) <= Date.now()) throw invalid([{ path: 'sendAt', message: 'must be in the future' }]);
  return sendAt;
}

function audienceOf(context: PageContext): Promise<AudiencePreview> {
  return context.run<AudiencePreview>('broadcast.preview-audience', {
    broadcastId: context.params.broadcast,
  });
}

/** Reversible, so its button acts without confirmation. Opening the page's address directly asks for one. */
function step(path: 'pause' | 'resume', done: string): PageDefinition {
  return {
    path: `broadcasts/:broadcast/${path}`,
    needs: 'broadcast:send',
    show: async (context) => {
      const { id, name } = await broadcastOf(context);
      const button = context.words.broadcasts.steps[path];
      return context.page({
        section: 'broadcasts',
        title: `${button}: ${name}`,
        content: ConfirmForm(context, { text: name, button, back: `broadcasts/${id}` }),
      });
    },
    act: async (context) => {
      await context.run(`broadcast.${path}-broadcast`, { broadcastId: context.params.broadcast });
      return { to: `broadcasts/${context.params.broadcast!}`, done };
    },
  };
}

function retry(path: string, status: 'FAILED' | 'IN_DOUBT'): PageDefinition {
  return {
    path: `broadcasts/:broadcast/${path}`,
    needs: 'broadcast:send',
    show: async (context) => {
      const { id, name, recipients } = await broadcastOf(context);
      const { retryFailed, retryInDoubt, retrying } = context.words.broadcasts.steps;
      const isFailed = status === 'FAILED';
      const many = (isFailed ? recipients?.failed : recipients?.inDoubt) ?? 0;
      const back = {
        href: context.path(`broadcasts/${id}/recipients`),
        text: context.words.broadcasts.recipients.title,
      };
      return context.page({
        section: 'broadcasts',
        title: `${isFailed ? retryFailed : retryInDoubt}: ${name}`,
        ...(many === 0 ? { back } : {}),
        content:
          many === 0
            ? html`<p>${retrying.nobody}</p>`
            : ConfirmForm(context, {
                text: isFailed ? retrying.failed(many) : retrying.inDoubt(many),
                button: retrying.button(many),
                back: `broadcasts/${id}/recipients`,
                isFinal: !isFailed,
              }),
      });
    },
    act: async (context) => {
      await context.run('broadcast.retry-recipients', { broadcastId: context.params.broadcast, status });
      return { to: `broadcasts/${context.params.broadcast!}/recipients`, done: 'broadcasts.retried' };
    },
  };
}

function senderOf(context: PageContext): Promise<{ mailFrom: object | null; postalAddress: string | null }> {
  return context.run('organization.get-organization', { organizationId: context.organizationId });
}
