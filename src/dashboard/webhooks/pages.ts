import { html, type Html, type Page } from '#libs/pages';
import { allEventTypes } from '#libs/modules';
import { RpcError } from '#libs/rpc';
import { type DashboardWords } from '#locales';
import { DELIVERY_REASONS, EXPANDED_KINDS, type ExpandedKind } from '../../webhooks/index.js';
import { kindIn } from '../history/event-list.js';
import { createdColumn, statusColumn } from '../list-pages.js';
import { type PageDefinition } from '../page.js';
import {
  ConfirmForm,
  ButtonLink,
  ChoiceField,
  Actions,
  Facts,
  fieldsFor,
  numberIn,
  SecretField,
  TextField,
  TextForm,
  timeIn,
  BadgeOf,
} from '../parts.js';
import { recordPages, type Steps } from '../record-pages.js';
import { eventIn } from '../activity-log.js';
import { type PageContext } from '../page-context.js';

type WebhookRecord = {
  createdAt: string;
  updatedAt: string;
  id: string;
  url: string;
  description: string | null;
  eventTypes: string[] | null;
  expand: ExpandedKind[];
  status: 'ACTIVE' | 'FAILING' | 'PAUSED' | 'DISABLED';
  lag: number | null;
  lastDelivery: { at: string; outcome: Outcome; statusCode: number | null } | null;
};
type Outcome = 'DELIVERED' | 'FAILED' | 'PARKED';
type DeliveryRecord = {
  id: string;
  createdAt: string;
  eventId: string;
  type: string;
  attempt: number;
  outcome: Outcome;
  statusCode: number | null;
  reason: string | null;
};

/** Seconds for which the previous secret also signs. */
const OVERLAP = 86_400;

const webhooks = recordPages<WebhookRecord>({
  section: 'webhooks',
  record: 'webhook',
  titleOf: ({ url, description }) => description ?? url,
});

export const webhookPages: PageDefinition[] = [
  ...webhooks.list({
    columns: [
      {
        name: ({ webhooks }) => webhooks.url,
        cell: ({ id, url }, { address }) => html`<a href="${address.path(`webhooks/${id}`)}">${url}</a>`,
        exported: ({ url }) => url,
      },
      { name: ({ webhooks }) => webhooks.description, cell: ({ description }) => description },
      statusColumn('webhooks'),
      createdColumn(),
    ],
  }),
  ...webhooks.writing({
    content: async (context, webhook) => {
      const { button, save } = context.words.webhooks;
      const fields = await FieldsOf(context, webhook);
      return TextForm(context.form, { fields, button: webhook ? save : button, of: webhook });
    },
    input: ({ form }) => {
      const eventTypes = form.getAll('eventTypes');
      return {
        url: form.typed('url') ?? '',
        description: form.typed('description'),
        eventTypes: eventTypes.length === 0 ? null : eventTypes,
        expand: form.getAll('expand'),
      };
    },
    created: (context, { webhookId, secret }) => secretOnce(context, webhookId!, secret ?? null),
  }),
  webhooks.shown(showWebhook),
  step('pause', { done: 'paused' }),
  step('resume', { done: 'resumed' }),
  step('test', {
    act: async ({ words, address, api }) => {
      const webhookId = address.params.webhook!;
      const { delivered, reason, statusCode } = await api.run<{
        delivered: boolean;
        reason: string | null;
        statusCode: number | null;
      }>('webhook.test-webhook', { webhookId });
      if (!delivered)
        throw new RpcError(
          'BAD_REQUEST',
          words.webhooks.testFailed(reasonIn(words, reason) ?? String(statusCode ?? '')),
        );
      return { to: `webhooks/${webhookId}`, done: 'webhooks.tested' };
    },
  }),
  webhooks.step('rotate', {
    ask: ({ words: { webhooks } }) => ({
      title: webhooks.rotate,
      text: webhooks.rotating,
      button: webhooks.rotate,
    }),
    act: async (context) => {
      const webhookId = context.address.params.webhook!;
      const fields = { webhookId, overlapSeconds: OVERLAP };
      const made = await context.api.run<{ secret: string | null }>('webhook.rotate-secret', fields);
      return secretOnce(context, webhookId, made.secret);
    },
  }),
  webhooks.step('replay', {
    ask: ({ words, form }) => {
      const { replay, replaying } = words.webhooks;
      const from = TextField(form, { name: 'from', label: replaying.from, type: 'datetime-local' });
      return { title: replay, text: replaying.text, fields: [from], button: replaying.button };
    },
    act: async ({ address, form, api }) => {
      const webhookId = address.params.webhook!;
      const from = form.typed('from');
      await api.run('webhook.replay-webhook', {
        webhookId,
        from: from === null ? '' : `${from.slice(0, 16)}:00Z`,
      });
      return { to: `webhooks/${webhookId}`, done: 'webhooks.replayed' };
    },
  }),
  webhooks.deletion({ named: ({ url }) => url }),
  ...webhooks.listBelow<DeliveryRecord>('deliveries', {
    operation: 'webhook.list-deliveries',
    title: ({ webhooks }) => webhooks.deliveries.title,
    text: ({ webhooks }) => webhooks.deliveries.text,
    empty: ({ webhooks }) => webhooks.deliveries.none,
    search: ({ webhooks }) => webhooks.deliveries.search,
    searchIn: ({ type, outcome, statusCode, reason }, { words }) =>
      [
        eventIn(words, type),
        type,
        words.webhooks.deliveries.outcomes[outcome],
        statusCode,
        reasonIn(words, reason),
      ].join(' '),
    columns: [
      {
        name: ({ webhooks }) => webhooks.deliveries.event,
        cell: ({ type }, { words }) => eventIn(words, type),
      },
      createdColumn(({ webhooks }) => webhooks.deliveries.when),
      { name: ({ webhooks }) => webhooks.deliveries.attempt, cell: ({ attempt }) => attempt, isNumber: true },
      {
        name: ({ webhooks }) => webhooks.deliveries.outcome,
        cell: ({ outcome }, { words }) => words.webhooks.deliveries.outcomes[outcome],
        badge: ({ outcome }) => outcome,
        isObvious: true,
      },
      {
        name: ({ webhooks }) => webhooks.deliveries.answer,
        cell: ({ statusCode, reason }, { words }) =>
          [statusCode, reasonIn(words, reason)].filter((part) => part !== null).join(' '),
        isObvious: true,
      },
      {
        name: ({ webhooks }) => webhooks.deliveries.again,
        cell: ({ eventId, type }, { words, person, address }) => {
          if (!person.may('webhook:write')) return null;
          const { again, againOf } = words.webhooks.deliveries;
          const href = address.path(`webhooks/${address.params.webhook!}/deliveries/${eventId}/again`);
          return html`<a href="${href}" aria-label="${againOf(eventIn(words, type))}">${again}</a>`;
        },
        exported: ({ eventId }) => eventId,
        isObvious: true,
      },
    ],
  }),
  {
    path: 'webhooks/:webhook/deliveries/:event/again',
    needs: 'webhook:write',
    show: async (context) => {
      const { deliveries } = context.words.webhooks;
      const { id } = await webhooks.find(context);
      return context.view.page({
        section: 'webhooks',
        title: deliveries.again,
        content: ConfirmForm(context, {
          text: deliveries.againText,
          button: deliveries.again,
          back: `webhooks/${id}/deliveries`,
        }),
      });
    },
    act: async ({ address, api }) => {
      const { webhook: webhookId, event: eventId } = address.params;
      await api.run('webhook.redeliver', { webhookId, eventId });
      return { to: `webhooks/${webhookId!}/deliveries`, done: 'webhooks.redelivered' };
    },
  },
];

/** Why a delivery failed, in the user's language. */
function reasonIn({ webhooks }: DashboardWords, reason: string | null): string | null {
  const name = Object.entries(DELIVERY_REASONS).find(([, text]) => text === reason)?.[0];
  return name === undefined ? reason : webhooks.deliveries.reasons[name as keyof typeof DELIVERY_REASONS];
}

function showWebhook(
  { words }: PageContext,
  { url, status, lastDelivery, eventTypes, expand, lag }: WebhookRecord,
  { mayWrite, link, press }: Steps,
): Html {
  const { webhooks } = words;
  const heard =
    eventTypes === null ? webhooks.allEvents : eventTypes.map((type) => eventIn(words, type)).join(', ');
  const last =
    lastDelivery === null
      ? webhooks.never
      : `${timeIn(words, lastDelivery.at)}: ${webhooks.deliveries.outcomes[lastDelivery.outcome]}`;
  const isOn = status === 'ACTIVE' || status === 'FAILING';
  return html`<p>${BadgeOf(status, webhooks.statuses[status])}</p>
    ${Actions(
      [
        link('deliveries', webhooks.deliveries.title, false),
        mayWrite && press('test', webhooks.test),
        mayWrite && (isOn ? press('pause', webhooks.pause) : press('resume', webhooks.resume, false)),
        mayWrite && link('edit', webhooks.edit),
        mayWrite && link('rotate', webhooks.rotate),
        mayWrite && link('replay', webhooks.replay),
        mayWrite && link('delete', webhooks.delete),
      ],
      words,
    )}
    ${Facts([
      { name: webhooks.url, value: url },
      { name: webhooks.events, value: heard },
      { name: webhooks.expand, value: expand.map((kind) => kindIn(words, kind)).join(', ') },
      { name: webhooks.waiting, value: lag === null ? null : numberIn(words, lag) },
      { name: webhooks.last, value: last },
    ])}`;
}

function step(name: 'pause' | 'resume' | 'test', how: { done: string } | Pick<PageDefinition, 'act'>) {
  return webhooks.step(name, {
    ask: ({ words }, { url }) => {
      const button = words.webhooks[name];
      return { title: `${button}: ${url}`, text: url, button };
    },
    ...how,
  });
}

async function FieldsOf({ words, form, api }: PageContext, webhook?: WebhookRecord) {
  const { events, eventsHint, expand, expandHint } = words.webhooks;
  const { records } = await api.run<{ records: { type: string; internal: boolean }[] }>(
    'webhook.list-event-types',
    { internal: 'true' },
  );
  const { text, optionalText } = fieldsFor(form, words.webhooks, webhook);
  return [
    text('url', { type: 'url', max: 2_000 }),
    optionalText('description', { max: 500 }),
    ChoiceField(form, {
      name: 'eventTypes',
      label: events,
      hint: eventsHint,
      isMany: true,
      values: webhook?.eventTypes ?? [],
      choices: records
        .filter(({ type, internal }) => !internal || webhook?.eventTypes?.includes(type))
        .map(({ type }) => ({ value: type, text: eventIn(words, type), group: kindOf(words, type) }))
        .toSorted(
          (one, other) =>
            one.group.localeCompare(other.group, words.locale) ||
            one.text.localeCompare(other.text, words.locale),
        ),
    }),
    ChoiceField(form, {
      name: 'expand',
      label: expand,
      hint: expandHint,
      isMany: true,
      values: webhook?.expand ?? [],
      choices: EXPANDED_KINDS.map((kind) => ({ value: kind, text: kindIn(words, kind) })),
    }),
  ];
}

/** The kind of record that an event belongs to. */
function kindOf(words: DashboardWords, eventType: string): string {
  return kindIn(words, allEventTypes().find(({ type }) => type === eventType)!.streamType);
}

/** Shown only in the response to the form. */
function secretOnce({ words, address, view }: PageContext, webhookId: string, secret: string | null): Page {
  const { webhooks } = words;
  if (secret === null) throw new RpcError('BAD_REQUEST', webhooks.secretBefore);
  return view.page({
    section: 'webhooks',
    title: webhooks.secret,
    content: html`<div class="text">
        <p class="lead" role="status">${webhooks.secretText}</p>
        ${SecretField(words, { name: 'secret', label: webhooks.secret, value: secret })}
      </div>
      <p>${ButtonLink(address, `webhooks/${webhookId}`, webhooks.toWebhook)}</p>`,
  });
}
