import { html, type Html } from '#libs/pages';
import { invalid, type Page as PageOfRecords, RpcError } from '#libs/rpc';
import { RECIPIENT_DETAILS, type RecipientDetail, Recipients } from '../../broadcasts/index.js';
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
import { type Asked, type Visit } from '../visit.js';
import { type Words } from '../words/index.js';
import { type BroadcastRecord, broadcastOf, nameFaults, toBroadcast } from './broadcast.js';

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

const STATUSES = ['PENDING', 'CLAIMED', 'SENT', 'FAILED', 'SKIPPED', 'IN_DOUBT'] as const;
type Recipient = {
  /** The contact's id, because each contact is a recipient only once. */
  id?: string;
  contactId: string;
  status: (typeof STATUSES)[number];
  at: string | Date | null;
  detail: string | null;
  name?: string;
  email?: string | null;
};

const DETAILS = new Map(
  Object.entries(RECIPIENT_DETAILS).map(([name, text]) => [text as string, name as RecipientDetail]),
);

export const sendingPages: PageDefinition[] = [
  {
    path: 'broadcasts/:broadcast/audience',
    needs: 'broadcast:read',
    show: async (visit) => {
      const { words } = visit;
      const { audience } = words.broadcasts;
      const broadcast = await broadcastOf(visit);
      const preview = await audienceOf(visit);
      const { total, excluded } = preview;
      const others = EXCLUDED.filter((why) => excluded[why] > 0);
      return visit.page({
        section: 'broadcasts',
        back: toBroadcast(visit, broadcast),
        title: audience.title,
        content: html`<p class="lead">${total === 0 ? whyNobody(visit, broadcast, preview) : audience.total(total)}</p>
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
    show: async (visit) => {
      const { test } = visit.words.broadcasts;
      nameFaults(visit, ['to']);
      const broadcast = await broadcastOf(visit);
      const fields = [
        TextField(visit, { name: 'to', label: test.to, type: 'email', autocomplete: 'email', max: 254 }),
      ];
      return visit.page({
        section: 'broadcasts',
        back: toBroadcast(visit, broadcast),
        title: test.title,
        content: html`<div class="text">
          <p class="lead">${test.text}</p>
          ${FormOf(visit, { fields, button: test.button })}
        </div>`,
      });
    },
    act: async (visit) => {
      const broadcastId = visit.params.broadcast!;
      const { outcomes } = await visit.run<{ outcomes: { sent: boolean; detail: string }[] }>(
        'broadcast.send-test',
        {
          broadcastId,
          to: [visit.typed('to') ?? ''],
        },
      );
      const failed = outcomes.find(({ sent }) => !sent);
      if (failed) throw new RpcError('BAD_REQUEST', visit.words.broadcasts.test.failed(failed.detail));
      return { to: `broadcasts/${broadcastId}`, done: 'broadcasts.tested' };
    },
  },
  {
    path: 'broadcasts/:broadcast/send',
    needs: 'broadcast:send',
    show: async (visit) => {
      const { words } = visit;
      const { send, audience } = words.broadcasts;
      nameFaults(visit, ['sendAt']);
      const broadcast = await broadcastOf(visit);
      const [preview, { mailFrom, postalAddress }] = await Promise.all([audienceOf(visit), senderOf(visit)]);
      const { total } = preview;
      const isNamed = mailFrom !== null && postalAddress !== null;
      return visit.page({
        section: 'broadcasts',
        back: toBroadcast(visit, broadcast),
        title: `${send.title}: ${broadcast.name}`,
        content: html`<div class="text">
          <p class="lead">${total === 0 ? whyNobody(visit, broadcast, preview) : send.text(total)}</p>
          ${total === 0 ? html`<p><a href="${visit.path(`broadcasts/${broadcast.id}/audience`)}">${audience.title}</a></p>` : null}
          ${broadcast.status === 'SCHEDULED' ? Rescheduling(visit, broadcast, total) : Sending(visit, total)}
          ${isNamed ? null : html`<p><a href="${visit.path('organization/mails')}">${send.organization}</a></p>`}
          <p><a href="${visit.path(`broadcasts/${broadcast.id}`)}">${words.cancel}</a></p>
        </div>`,
      });
    },
    act: async (visit) => {
      const broadcastId = visit.params.broadcast!;
      const sendAt = momentOf(visit, await broadcastOf(visit));
      await visit.run('broadcast.send-broadcast', { broadcastId, sendAt });
      const done = sendAt === undefined ? 'broadcasts.sent' : 'broadcasts.scheduled';
      return { to: `broadcasts/${broadcastId}`, done };
    },
  },
  step('pause', 'broadcasts.paused'),
  step('resume', 'broadcasts.resumed'),
  {
    path: 'broadcasts/:broadcast/cancel',
    needs: 'broadcast:send',
    show: async (visit) => {
      const { id, name } = await broadcastOf(visit);
      const { cancel, cancelTitle, cancelText } = visit.words.broadcasts.steps;
      return visit.page({
        section: 'broadcasts',
        title: cancelTitle(name),
        content: ConfirmForm(visit, {
          text: cancelText,
          button: cancel,
          back: `broadcasts/${id}`,
          isFinal: true,
        }),
      });
    },
    act: async (visit) => {
      await visit.run('broadcast.cancel-broadcast', { broadcastId: visit.params.broadcast });
      return { to: `broadcasts/${visit.params.broadcast!}`, done: 'broadcasts.cancelled' };
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
    filters: (visit) => {
      const { broadcasts, state } = visit.words;
      const choices = STATUSES.map((value) => ({ value, text: broadcasts.recipients.statuses[value] }));
      return Promise.resolve([FilterField(visit, { name: 'status', label: state, choices })]);
    },
    back: async (visit) => toBroadcast(visit, await broadcastOf(visit)),
    before: async (visit) => {
      const { status, recipients } = await broadcastOf(visit);
      if (!visit.may('broadcast:send') || (status !== 'SENDING' && status !== 'SENT') || !recipients)
        return null;
      const { retryFailed, retryInDoubt } = visit.words.broadcasts.steps;
      const path = `broadcasts/${visit.params.broadcast!}`;
      return Actions([
        recipients.failed ? ButtonOf(visit, `${path}/retry-failed`, retryFailed) : null,
        // Asks for confirmation, because recipients may get the email twice.
        recipients.inDoubt ? ButtonLink(visit, `${path}/retry-in-doubt`, retryInDoubt, true) : null,
      ]);
    },
    complete: async (visit, recipients) => {
      const ids = recipients.map(({ contactId }) => contactId);
      const contacts = visit.may('contact:read')
        ? await visit.find(ContactsByIds).find(visit.organizationId, ids)
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
        cell: ({ contactId, name }, visit) =>
          name === undefined
            ? visit.words.broadcasts.recipients.gone
            : html`<a href="${visit.path(`contacts/${contactId}`)}">${name}</a>`,
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

/** The operation does not support search. Searches the contacts (at most 100) and looks them up among the recipients. */
async function listRecipients(visit: Visit, { q, ...asked }: Asked): Promise<PageOfRecords<Recipient>> {
  if (typeof q !== 'string') return visit.run('broadcast.list-recipients', asked);
  const { organizationId, params } = visit;
  const { records } = await visit.run<PageOfRecords<{ id: string }>>('contact.list-contacts', {
    organizationId,
    q,
    limit: 100,
  });
  const ids = records.map(({ id }) => id);
  const found = await visit
    .find(Recipients)
    .among(organizationId, params.broadcast!, ids, visit.query('status'));
  return { records: found, pagination: { cursor: null, hasMore: false } };
}

/** Why there are no recipients: none chosen, none in the chosen lists, or all excluded. */
function whyNobody(visit: Visit, { audience }: BroadcastRecord, { excluded }: AudiencePreview): string {
  const { nobody, nobodyThere, nobodyLeft } = visit.words.broadcasts.audience;
  const { listIds = [], petitionIds = [], contactIds = [] } = audience;
  if (listIds.length + petitionIds.length + contactIds.length === 0) return nobody;
  return EXCLUDED.every((why) => excluded[why] === 0) ? nobodyThere : nobodyLeft;
}

/** Responses of mail servers are shown unchanged. */
function detailIn({ broadcasts, faultOf }: Words, detail: string): string {
  if (detail.startsWith('The template is invalid')) return faultOf(`TEMPLATE_INVALID: ${detail}`);
  const own = DETAILS.get(detail);
  return own === undefined ? detail : broadcasts.recipients.details[own];
}

function Sending(visit: Visit, total: number): Html | null {
  if (total === 0) return RefusalOf(visit);
  const { send } = visit.words.broadcasts;
  return FormOf(visit, { fields: [WhenField(visit)], button: send.button(total) });
}

/** Two separate forms, so that rescheduling never sends immediately by mistake. */
function Rescheduling(visit: Visit, broadcast: BroadcastRecord, total: number): Html {
  const { words } = visit;
  const { send } = words.broadcasts;
  return html`<p>${send.planned(timeIn(words, broadcast.sendAt!))}</p>
    ${FormOf(visit, { fields: [WhenField(visit, broadcast.sendAt)], button: send.change })}
    ${total === 0 ? null : ButtonOf(visit, `broadcasts/${broadcast.id}/send`, send.now(total))}`;
}

/** @param planned the scheduled time. If undefined, the field may be left empty to send now. */
function WhenField(visit: Visit, planned?: string | null): Html {
  const { send } = visit.words.broadcasts;
  return TextField(visit, {
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
function momentOf(visit: Visit, { status, sendAt: planned }: BroadcastRecord): string | undefined {
  const at = visit.typed('sendAt')?.slice(0, 16);
  if (at === undefined) {
    // Sending now has its own button there.
    if (status === 'SCHEDULED' && visit.form.has('sendAt'))
      throw invalid([{ path: 'sendAt', message: 'is required' }]);
    return undefined;
  }
  // Keeps the seconds, which the field does not show.
  const sendAt = status === 'SCHEDULED' && planned?.startsWith(at) ? planned : `${at}:00Z`;
  // The operation would send immediately. A mistyped year must not cause that.
  if (Date.parse(sendAt) <= Date.now()) throw invalid([{ path: 'sendAt', message: 'must be in the future' }]);
  return sendAt;
}

function audienceOf(visit: Visit): Promise<AudiencePreview> {
  return visit.run<AudiencePreview>('broadcast.preview-audience', { broadcastId: visit.params.broadcast });
}

/** Reversible, so the button acts directly. The page asks for confirmation if someone opens it by address. */
function step(path: 'pause' | 'resume', done: string): PageDefinition {
  return {
    path: `broadcasts/:broadcast/${path}`,
    needs: 'broadcast:send',
    show: async (visit) => {
      const { id, name } = await broadcastOf(visit);
      const button = visit.words.broadcasts.steps[path];
      return visit.page({
        section: 'broadcasts',
        title: `${button}: ${name}`,
        content: ConfirmForm(visit, { text: name, button, back: `broadcasts/${id}` }),
      });
    },
    act: async (visit) => {
      await visit.run(`broadcast.${path}-broadcast`, { broadcastId: visit.params.broadcast });
      return { to: `broadcasts/${visit.params.broadcast!}`, done };
    },
  };
}

function retry(path: string, status: 'FAILED' | 'IN_DOUBT'): PageDefinition {
  return {
    path: `broadcasts/:broadcast/${path}`,
    needs: 'broadcast:send',
    show: async (visit) => {
      const { id, name, recipients } = await broadcastOf(visit);
      const { retryFailed, retryInDoubt, retrying } = visit.words.broadcasts.steps;
      const isFailed = status === 'FAILED';
      const many = (isFailed ? recipients?.failed : recipients?.inDoubt) ?? 0;
      const back = {
        href: visit.path(`broadcasts/${id}/recipients`),
        text: visit.words.broadcasts.recipients.title,
      };
      return visit.page({
        section: 'broadcasts',
        title: `${isFailed ? retryFailed : retryInDoubt}: ${name}`,
        ...(many === 0 ? { back } : {}),
        content:
          many === 0
            ? html`<p>${retrying.nobody}</p>`
            : ConfirmForm(visit, {
                text: isFailed ? retrying.failed(many) : retrying.inDoubt(many),
                button: retrying.button(many),
                back: `broadcasts/${id}/recipients`,
                isFinal: !isFailed,
              }),
      });
    },
    act: async (visit) => {
      await visit.run('broadcast.retry-recipients', { broadcastId: visit.params.broadcast, status });
      return { to: `broadcasts/${visit.params.broadcast!}/recipients`, done: 'broadcasts.retried' };
    },
  };
}

function senderOf(visit: Visit): Promise<{ mailFrom: object | null; postalAddress: string | null }> {
  return visit.run('organization.get-organization', { organizationId: visit.organizationId });
}
