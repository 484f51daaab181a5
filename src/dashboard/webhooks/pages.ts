import { html, type Page } from '#libs/pages';
import { RpcError } from '#libs/rpc';
import { listPages } from '../list-pages.js';
import { type PageDefinition } from '../page.js';
import {
  ConfirmForm,
  ButtonLink,
  ButtonOf,
  ChoiceField,
  Actions,
  Facts,
  FormOf,
  numberIn,
  SecretField,
  TextField,
  timeIn,
} from '../parts.js';
import { eventIn, ActivityLog } from '../activity-log.js';
import { type PageContext } from '../page-context.js';

type WebhookRecord = {
  updatedAt: string;
  id: string;
  url: string;
  description: string | null;
  eventTypes: string[] | null;
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

export const webhookPages: PageDefinition[] = [
  ...listPages<WebhookRecord>({
    path: 'webhooks',
    section: 'webhooks',
    needs: 'webhook:read',
    operation: 'webhook.list-webhooks',
    title: ({ webhooks }) => webhooks.title,
    text: ({ webhooks }) => webhooks.text,
    empty: ({ webhooks }) => webhooks.none,
    search: ({ webhooks }) => webhooks.search,
    add: { path: 'webhooks/new', text: ({ webhooks }) => webhooks.add, needs: 'webhook:write' },
    columns: [
      {
        name: ({ webhooks }) => webhooks.url,
        cell: ({ id, url }, context) => html`<a href="${context.path(`webhooks/${id}`)}">${url}</a>`,
        exported: ({ url }) => url,
      },
      { name: ({ webhooks }) => webhooks.description, cell: ({ description }) => description },
      { name: ({ state }) => state, cell: ({ status }, { words }) => words.webhooks.statuses[status] },
    ],
  }),
  {
    path: 'webhooks/new',
    needs: 'webhook:write',
    show: async (context) => {
      const { webhooks } = context.words;
      return context.page({
        section: 'webhooks',
        back: toAll(context),
        title: webhooks.add,
        content: html`<div class="text">
          ${FormOf(context, { fields: await FieldsOf(context), button: webhooks.button })}
        </div>`,
      });
    },
    act: async (context) => {
      const made = await context.run<{ webhookId: string; secret: string | null }>(
        'webhook.create-webhook',
        typedIn(context),
      );
      return secretOnce(context, made.webhookId, made.secret);
    },
  },
  { path: 'webhooks/:webhook', needs: 'webhook:read', show: showWebhook },
  {
    path: 'webhooks/:webhook/edit',
    needs: 'webhook:write',
    show: async (context) => {
      const { webhooks } = context.words;
      const webhook = await webhookOf(context);
      return context.page({
        section: 'webhooks',
        back: toWebhook(context, webhook),
        title: `${webhooks.edit}: ${webhook.description ?? webhook.url}`,
        content: html`<div class="text">
          ${FormOf(context, { fields: await FieldsOf(context, webhook), button: webhooks.save, of: webhook })}
        </div>`,
      });
    },
    act: async (context) => {
      const webhookId = context.params.webhook!;
      context.requireSame(await webhookOf(context));
      await context.run('webhook.update-webhook', { webhookId, ...typedIn(context) });
      return { to: `webhooks/${webhookId}`, done: 'webhooks.changed' };
    },
  },
  step('pause', async (context, webhookId) => {
    await context.run('webhook.pause-webhook', { webhookId });
    return 'webhooks.paused';
  }),
  step('resume', async (context, webhookId) => {
    await context.run('webhook.resume-webhook', { webhookId });
    return 'webhooks.resumed';
  }),
  step('test', async (context, webhookId) => {
    const { delivered, reason, statusCode } = await context.run<{
      delivered: boolean;
      reason: string | null;
      statusCode: number | null;
    }>('webhook.test-webhook', { webhookId });
    if (!delivered)
      throw new RpcError(
        'BAD_REQUEST',
        context.words.webhooks.testFailed(reason ?? String(statusCode ?? '')),
      );
    return 'webhooks.tested';
  }),
  {
    path: 'webhooks/:webhook/rotate',
    needs: 'webhook:write',
    show: async (context) => {
      const { webhooks } = context.words;
      const webhook = await webhookOf(context);
      return context.page({
        section: 'webhooks',
        title: webhooks.rotate,
        content: ConfirmForm(context, {
          text: webhooks.rotating,
          button: webhooks.rotate,
          back: `webhooks/${webhook.id}`,
        }),
      });
    },
    act: async (context) => {
      const webhookId = context.params.webhook!;
      const made = await context.run<{ secret: string | null }>('webhook.rotate-secret', {
        webhookId,
        overlapSeconds: OVERLAP,
      });
      return secretOnce(context, webhookId, made.secret);
    },
  },
  {
    path: 'webhooks/:webhook/replay',
    needs: 'webhook:write',
    show: async (context) => {
      const { replay, replaying } = context.words.webhooks;
      const { id } = await webhookOf(context);
      const from = TextField(context, { name: 'from', label: replaying.from, type: 'datetime-local' });
      return context.page({
        section: 'webhooks',
        title: replay,
        content: ConfirmForm(context, {
          text: replaying.text,
          fields: [from],
          button: replaying.button,
          back: `webhooks/${id}`,
        }),
      });
    },
    act: async (context) => {
      const webhookId = context.params.webhook!;
      const from = context.typed('from');
      await context.run('webhook.replay-webhook', {
        webhookId,
        from: from === null ? '' : `${from.slice(0, 16)}:00Z`,
      });
      return { to: `webhooks/${webhookId}`, done: 'webhooks.replayed' };
    },
  },
  {
    path: 'webhooks/:webhook/delete',
    needs: 'webhook:write',
    show: async (context) => {
      const { deleting } = context.words.webhooks;
      const { id, url } = await webhookOf(context);
      return context.page({
        section: 'webhooks',
        title: deleting.title(url),
        content: ConfirmForm(context, {
          text: deleting.text,
          button: deleting.button,
          back: `webhooks/${id}`,
          isFinal: true,
        }),
      });
    },
    act: async (context) => {
      await context.run('webhook.delete-webhook', { webhookId: context.params.webhook });
      return { to: 'webhooks', done: 'webhooks.deleted' };
    },
  },
  ...listPages<DeliveryRecord>({
    path: 'webhooks/:webhook/deliveries',
    section: 'webhooks',
    needs: 'webhook:read',
    operation: 'webhook.list-deliveries',
    title: ({ webhooks }) => webhooks.deliveries.title,
    text: ({ webhooks }) => webhooks.deliveries.text,
    empty: ({ webhooks }) => webhooks.deliveries.none,
    search: ({ webhooks }) => webhooks.deliveries.search,
    searchIn: ({ type, outcome, statusCode, reason }, context) =>
      [
        eventIn(context, type),
        type,
        context.words.webhooks.deliveries.outcomes[outcome],
        statusCode,
        reason,
      ].join(' '),
    fields: ({ params }) => ({ webhookId: params.webhook }),
    back: async (context) => toWebhook(context, await webhookOf(context)),
    columns: [
      {
        name: ({ webhooks }) => webhooks.deliveries.event,
        cell: ({ type }, context) => eventIn(context, type),
      },
      {
        name: ({ webhooks }) => webhooks.deliveries.when,
        cell: ({ createdAt }, { words }) => timeIn(words, createdAt),
      },
      { name: ({ webhooks }) => webhooks.deliveries.attempt, cell: ({ attempt }) => attempt, isNumber: true },
      {
        name: ({ webhooks }) => webhooks.deliveries.outcome,
        cell: ({ outcome }, { words }) => words.webhooks.deliveries.outcomes[outcome],
      },
      {
        name: ({ webhooks }) => webhooks.deliveries.answer,
        cell: ({ statusCode, reason }) => [statusCode, reason].filter((part) => part !== null).join(' '),
      },
      {
        name: ({ webhooks }) => webhooks.deliveries.again,
        cell: ({ eventId, type }, context) => {
          if (!context.may('webhook:write')) return null;
          const { again, againOf } = context.words.webhooks.deliveries;
          const href = context.path(`webhooks/${context.params.webhook!}/deliveries/${eventId}/again`);
          return html`<a href="${href}" aria-label="${againOf(eventIn(context, type))}">${again}</a>`;
        },
        exported: ({ eventId }) => eventId,
      },
    ],
  }),
  {
    path: 'webhooks/:webhook/deliveries/:event/again',
    needs: 'webhook:write',
    show: async (context) => {
      const { deliveries } = context.words.webhooks;
      const { id } = await webhookOf(context);
      return context.page({
        section: 'webhooks',
        title: deliveries.again,
        content: ConfirmForm(context, {
          text: deliveries.againText,
          button: deliveries.again,
          back: `webhooks/${id}/deliveries`,
        }),
      });
    },
    act: async (context) => {
      const { webhook: webhookId, event: eventId } = context.params;
      await context.run('webhook.redeliver', { webhookId, eventId });
      return { to: `webhooks/${webhookId!}/deliveries`, done: 'webhooks.redelivered' };
    },
  },
];

async function showWebhook(context: PageContext) {
  const { words } = context;
  const { webhooks } = words;
  const [webhook, past] = await Promise.all([
    webhookOf(context),
    ActivityLog(context, context.params.webhook!),
  ]);
  const { id, status, lastDelivery, eventTypes, lag } = webhook;
  const path = `webhooks/${id}`;
  const actions = context.may('webhook:write')
    ? [
        ButtonOf(context, `${path}/test`, webhooks.test),
        status === 'ACTIVE' || status === 'FAILING'
          ? ButtonOf(context, `${path}/pause`, webhooks.pause)
          : ButtonOf(context, `${path}/resume`, webhooks.resume, false),
        ButtonLink(context, `${path}/edit`, webhooks.edit, true),
        ButtonLink(context, `${path}/rotate`, webhooks.rotate, true),
        ButtonLink(context, `${path}/replay`, webhooks.replay, true),
        ButtonLink(context, `${path}/delete`, webhooks.delete, true),
      ]
    : [];
  const heard =
    eventTypes === null ? webhooks.allEvents : eventTypes.map((type) => eventIn(context, type)).join(', ');
  const last =
    lastDelivery === null
      ? webhooks.never
      : `${timeIn(words, lastDelivery.at)}: ${webhooks.deliveries.outcomes[lastDelivery.outcome]}`;
  return context.page({
    section: 'webhooks',
    back: toAll(context),
    title: webhook.description ?? webhook.url,
    content: html`<p><span class="badge">${webhooks.statuses[status]}</span></p>
      ${Actions([ButtonLink(context, `${path}/deliveries`, webhooks.deliveries.title), ...actions])}
      ${Facts([
        { name: webhooks.url, value: webhook.url },
        { name: webhooks.events, value: heard },
        { name: webhooks.waiting, value: lag === null ? null : numberIn(words, lag) },
        { name: webhooks.last, value: last },
      ])}
      ${past}`,
  });
}

function toAll(context: PageContext) {
  return { href: context.path('webhooks'), text: context.words.webhooks.title };
}

function toWebhook(context: PageContext, { id, url, description }: WebhookRecord) {
  return { href: context.path(`webhooks/${id}`), text: description ?? url };
}

function webhookOf(context: PageContext): Promise<WebhookRecord> {
  return context.run<WebhookRecord>('webhook.get-webhook', { webhookId: context.params.webhook });
}

function step(
  path: 'pause' | 'resume' | 'test',
  work: (context: PageContext, webhookId: string) => Promise<string>,
): PageDefinition {
  return {
    path: `webhooks/:webhook/${path}`,
    needs: 'webhook:write',
    show: async (context) => {
      const { id, url } = await webhookOf(context);
      const button = context.words.webhooks[path];
      return context.page({
        section: 'webhooks',
        title: `${button}: ${url}`,
        content: ConfirmForm(context, { text: url, button, back: `webhooks/${id}` }),
      });
    },
    act: async (context) => {
      const webhookId = context.params.webhook!;
      return { to: `webhooks/${webhookId}`, done: await work(context, webhookId) };
    },
  };
}

async function FieldsOf(context: PageContext, webhook?: WebhookRecord) {
  const { url, urlHint, description, events, eventsHint } = context.words.webhooks;
  const { records } = await context.run<{ records: { type: string }[] }>('webhook.list-event-types');
  return [
    TextField(context, {
      name: 'url',
      label: url,
      hint: urlHint,
      value: webhook?.url,
      type: 'url',
      max: 2_000,
    }),
    TextField(context, {
      name: 'description',
      label: description,
      value: webhook?.description,
      max: 500,
      isOptional: true,
    }),
    ChoiceField(context, {
      name: 'eventTypes',
      label: events,
      hint: eventsHint,
      isMany: true,
      values: webhook?.eventTypes ?? [],
      // Sorted by text, which groups the events of one kind of record.
      choices: records
        .map(({ type }) => ({ value: type, text: eventIn(context, type) }))
        .toSorted((one, other) => one.text.localeCompare(other.text, context.words.locale)),
    }),
  ];
}

function typedIn(context: PageContext): Record<string, unknown> {
  const eventTypes = context.form.getAll('eventTypes');
  return {
    url: context.typed('url') ?? '',
    description: context.typed('description'),
    eventTypes: eventTypes.length === 0 ? null : eventTypes,
  };
}

/** Shown only in the response to the form. */
function secretOnce(context: PageContext, webhookId: string, secret: string | null): Page {
  const { webhooks } = context.words;
  if (secret === null) throw new RpcError('BAD_REQUEST', webhooks.secretBefore);
  return context.page({
    section: 'webhooks',
    title: webhooks.secret,
    content: html`<div class="text">
        <p class="lead" role="status">${webhooks.secretText}</p>
        ${SecretField(context, { name: 'secret', label: webhooks.secret, value: secret })}
      </div>
      <p>${ButtonLink(context, `webhooks/${webhookId}`, webhooks.toWebhook)}</p>`,
  });
}
