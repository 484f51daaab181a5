import { html } from '#libs/pages';
import { RpcError } from '#libs/rpc';
import { type Page } from '../document.js';
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
import { type Visit } from '../visit.js';

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
        cell: ({ id, url }, visit) => html`<a href="${visit.path(`webhooks/${id}`)}">${url}</a>`,
        exported: ({ url }) => url,
      },
      { name: ({ webhooks }) => webhooks.description, cell: ({ description }) => description },
      { name: ({ state }) => state, cell: ({ status }, { words }) => words.webhooks.statuses[status] },
    ],
  }),
  {
    path: 'webhooks/new',
    needs: 'webhook:write',
    show: async (visit) => {
      const { webhooks } = visit.words;
      return visit.page({
        section: 'webhooks',
        back: toAll(visit),
        title: webhooks.add,
        content: html`<div class="text">
          ${FormOf(visit, { fields: await FieldsOf(visit), button: webhooks.button })}
        </div>`,
      });
    },
    act: async (visit) => {
      const made = await visit.run<{ webhookId: string; secret: string | null }>(
        'webhook.create-webhook',
        typedIn(visit),
      );
      return secretOnce(visit, made.webhookId, made.secret);
    },
  },
  { path: 'webhooks/:webhook', needs: 'webhook:read', show: showWebhook },
  {
    path: 'webhooks/:webhook/edit',
    needs: 'webhook:write',
    show: async (visit) => {
      const { webhooks } = visit.words;
      const webhook = await webhookOf(visit);
      return visit.page({
        section: 'webhooks',
        back: toWebhook(visit, webhook),
        title: `${webhooks.edit}: ${webhook.description ?? webhook.url}`,
        content: html`<div class="text">
          ${FormOf(visit, { fields: await FieldsOf(visit, webhook), button: webhooks.save, of: webhook })}
        </div>`,
      });
    },
    act: async (visit) => {
      const webhookId = visit.params.webhook!;
      visit.requireSame(await webhookOf(visit));
      await visit.run('webhook.update-webhook', { webhookId, ...typedIn(visit) });
      return { to: `webhooks/${webhookId}`, done: 'webhooks.changed' };
    },
  },
  step('pause', async (visit, webhookId) => {
    await visit.run('webhook.pause-webhook', { webhookId });
    return 'webhooks.paused';
  }),
  step('resume', async (visit, webhookId) => {
    await visit.run('webhook.resume-webhook', { webhookId });
    return 'webhooks.resumed';
  }),
  step('test', async (visit, webhookId) => {
    const { delivered, reason, statusCode } = await visit.run<{
      delivered: boolean;
      reason: string | null;
      statusCode: number | null;
    }>('webhook.test-webhook', { webhookId });
    if (!delivered)
      throw new RpcError('BAD_REQUEST', visit.words.webhooks.testFailed(reason ?? String(statusCode ?? '')));
    return 'webhooks.tested';
  }),
  {
    path: 'webhooks/:webhook/rotate',
    needs: 'webhook:write',
    show: async (visit) => {
      const { webhooks } = visit.words;
      const webhook = await webhookOf(visit);
      return visit.page({
        section: 'webhooks',
        title: webhooks.rotate,
        content: ConfirmForm(visit, {
          text: webhooks.rotating,
          button: webhooks.rotate,
          back: `webhooks/${webhook.id}`,
        }),
      });
    },
    act: async (visit) => {
      const webhookId = visit.params.webhook!;
      const made = await visit.run<{ secret: string | null }>('webhook.rotate-secret', {
        webhookId,
        overlapSeconds: OVERLAP,
      });
      return secretOnce(visit, webhookId, made.secret);
    },
  },
  {
    path: 'webhooks/:webhook/replay',
    needs: 'webhook:write',
    show: async (visit) => {
      const { replay, replaying } = visit.words.webhooks;
      const { id } = await webhookOf(visit);
      const from = TextField(visit, { name: 'from', label: replaying.from, type: 'datetime-local' });
      return visit.page({
        section: 'webhooks',
        title: replay,
        content: ConfirmForm(visit, {
          text: replaying.text,
          fields: [from],
          button: replaying.button,
          back: `webhooks/${id}`,
        }),
      });
    },
    act: async (visit) => {
      const webhookId = visit.params.webhook!;
      const from = visit.typed('from');
      await visit.run('webhook.replay-webhook', {
        webhookId,
        from: from === null ? '' : `${from.slice(0, 16)}:00Z`,
      });
      return { to: `webhooks/${webhookId}`, done: 'webhooks.replayed' };
    },
  },
  {
    path: 'webhooks/:webhook/delete',
    needs: 'webhook:write',
    show: async (visit) => {
      const { deleting } = visit.words.webhooks;
      const { id, url } = await webhookOf(visit);
      return visit.page({
        section: 'webhooks',
        title: deleting.title(url),
        content: ConfirmForm(visit, {
          text: deleting.text,
          button: deleting.button,
          back: `webhooks/${id}`,
          isFinal: true,
        }),
      });
    },
    act: async (visit) => {
      await visit.run('webhook.delete-webhook', { webhookId: visit.params.webhook });
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
    searchIn: ({ type, outcome, statusCode, reason }, visit) =>
      [
        eventIn(visit, type),
        type,
        visit.words.webhooks.deliveries.outcomes[outcome],
        statusCode,
        reason,
      ].join(' '),
    fields: ({ params }) => ({ webhookId: params.webhook }),
    back: async (visit) => toWebhook(visit, await webhookOf(visit)),
    columns: [
      {
        name: ({ webhooks }) => webhooks.deliveries.event,
        cell: ({ type }, visit) => eventIn(visit, type),
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
        cell: ({ eventId, type }, visit) => {
          if (!visit.may('webhook:write')) return null;
          const { again, againOf } = visit.words.webhooks.deliveries;
          const href = visit.path(`webhooks/${visit.params.webhook!}/deliveries/${eventId}/again`);
          return html`<a href="${href}" aria-label="${againOf(eventIn(visit, type))}">${again}</a>`;
        },
        exported: ({ eventId }) => eventId,
      },
    ],
  }),
  {
    path: 'webhooks/:webhook/deliveries/:event/again',
    needs: 'webhook:write',
    show: async (visit) => {
      const { deliveries } = visit.words.webhooks;
      const { id } = await webhookOf(visit);
      return visit.page({
        section: 'webhooks',
        title: deliveries.again,
        content: ConfirmForm(visit, {
          text: deliveries.againText,
          button: deliveries.again,
          back: `webhooks/${id}/deliveries`,
        }),
      });
    },
    act: async (visit) => {
      const { webhook: webhookId, event: eventId } = visit.params;
      await visit.run('webhook.redeliver', { webhookId, eventId });
      return { to: `webhooks/${webhookId!}/deliveries`, done: 'webhooks.redelivered' };
    },
  },
];

async function showWebhook(visit: Visit) {
  const { words } = visit;
  const { webhooks } = words;
  const [webhook, past] = await Promise.all([webhookOf(visit), ActivityLog(visit, visit.params.webhook!)]);
  const { id, status, lastDelivery, eventTypes, lag } = webhook;
  const path = `webhooks/${id}`;
  const deeds = visit.may('webhook:write')
    ? [
        ButtonOf(visit, `${path}/test`, webhooks.test),
        status === 'ACTIVE' || status === 'FAILING'
          ? ButtonOf(visit, `${path}/pause`, webhooks.pause)
          : ButtonOf(visit, `${path}/resume`, webhooks.resume, false),
        ButtonLink(visit, `${path}/edit`, webhooks.edit, true),
        ButtonLink(visit, `${path}/rotate`, webhooks.rotate, true),
        ButtonLink(visit, `${path}/replay`, webhooks.replay, true),
        ButtonLink(visit, `${path}/delete`, webhooks.delete, true),
      ]
    : [];
  const heard =
    eventTypes === null ? webhooks.allEvents : eventTypes.map((type) => eventIn(visit, type)).join(', ');
  const last =
    lastDelivery === null
      ? webhooks.never
      : `${timeIn(words, lastDelivery.at)}: ${webhooks.deliveries.outcomes[lastDelivery.outcome]}`;
  return visit.page({
    section: 'webhooks',
    back: toAll(visit),
    title: webhook.description ?? webhook.url,
    content: html`<p><span class="badge">${webhooks.statuses[status]}</span></p>
      ${Actions([ButtonLink(visit, `${path}/deliveries`, webhooks.deliveries.title), ...deeds])}
      ${Facts([
        { name: webhooks.url, value: webhook.url },
        { name: webhooks.events, value: heard },
        { name: webhooks.waiting, value: lag === null ? null : numberIn(words, lag) },
        { name: webhooks.last, value: last },
      ])}
      ${past}`,
  });
}

function toAll(visit: Visit) {
  return { href: visit.path('webhooks'), text: visit.words.webhooks.title };
}

function toWebhook(visit: Visit, { id, url, description }: WebhookRecord) {
  return { href: visit.path(`webhooks/${id}`), text: description ?? url };
}

function webhookOf(visit: Visit): Promise<WebhookRecord> {
  return visit.run<WebhookRecord>('webhook.get-webhook', { webhookId: visit.params.webhook });
}

function step(
  path: 'pause' | 'resume' | 'test',
  work: (visit: Visit, webhookId: string) => Promise<string>,
): PageDefinition {
  return {
    path: `webhooks/:webhook/${path}`,
    needs: 'webhook:write',
    show: async (visit) => {
      const { id, url } = await webhookOf(visit);
      const button = visit.words.webhooks[path];
      return visit.page({
        section: 'webhooks',
        title: `${button}: ${url}`,
        content: ConfirmForm(visit, { text: url, button, back: `webhooks/${id}` }),
      });
    },
    act: async (visit) => {
      const webhookId = visit.params.webhook!;
      return { to: `webhooks/${webhookId}`, done: await work(visit, webhookId) };
    },
  };
}

async function FieldsOf(visit: Visit, webhook?: WebhookRecord) {
  const { url, urlHint, description, events, eventsHint } = visit.words.webhooks;
  const { records } = await visit.run<{ records: { type: string }[] }>('webhook.list-event-types');
  return [
    TextField(visit, {
      name: 'url',
      label: url,
      hint: urlHint,
      value: webhook?.url,
      type: 'url',
      max: 2_000,
    }),
    TextField(visit, {
      name: 'description',
      label: description,
      value: webhook?.description,
      max: 500,
      isOptional: true,
    }),
    ChoiceField(visit, {
      name: 'eventTypes',
      label: events,
      hint: eventsHint,
      isMany: true,
      values: webhook?.eventTypes ?? [],
      // Sorted by text, which groups the events of one kind of record.
      choices: records
        .map(({ type }) => ({ value: type, text: eventIn(visit, type) }))
        .toSorted((one, other) => one.text.localeCompare(other.text, visit.words.locale)),
    }),
  ];
}

function typedIn(visit: Visit): Record<string, unknown> {
  const eventTypes = visit.form.getAll('eventTypes');
  return {
    url: visit.typed('url') ?? '',
    description: visit.typed('description'),
    eventTypes: eventTypes.length === 0 ? null : eventTypes,
  };
}

/** Shown only in the response to the form. */
function secretOnce(visit: Visit, webhookId: string, secret: string | null): Page {
  const { webhooks } = visit.words;
  if (secret === null) throw new RpcError('BAD_REQUEST', webhooks.secretBefore);
  return visit.page({
    section: 'webhooks',
    title: webhooks.secret,
    content: html`<div class="text">
        <p class="lead" role="status">${webhooks.secretText}</p>
        ${SecretField(visit, { name: 'secret', label: webhooks.secret, value: secret })}
      </div>
      <p>${ButtonLink(visit, `webhooks/${webhookId}`, webhooks.toWebhook)}</p>`,
  });
}
