import { html, type Page } from '#libs/pages';
import { allEventTypes } from '#libs/modules';
import { RpcError } from '#libs/rpc';
import { type DashboardWords } from '#locales';
import { kindIn } from '../history/event-list.js';
import { listPages } from '../list-pages.js';
import { type PageDefinition } from '../page.js';
import { deletionPage } from '../step-pages.js';
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
  BadgeOf,
} from '../parts.js';
import { eventIn, ActivityLog } from '../activity-log.js';
import { type Address, type FormInput, type PageContext } from '../page-context.js';

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
        cell: ({ id, url }, { address }) => html`<a href="${address.path(`webhooks/${id}`)}">${url}</a>`,
        exported: ({ url }) => url,
      },
      { name: ({ webhooks }) => webhooks.description, cell: ({ description }) => description },
      {
        name: ({ state }) => state,
        cell: ({ status }, { words }) => words.webhooks.statuses[status],
        badge: ({ status }) => status,
        isObvious: true,
      },
    ],
  }),
  {
    path: 'webhooks/new',
    needs: 'webhook:write',
    show: async (context) => {
      const { webhooks } = context.words;
      return context.view.page({
        section: 'webhooks',
        back: toAll(context),
        title: webhooks.add,
        content: html`<div class="text">
          ${FormOf(context.form, { fields: await FieldsOf(context), button: webhooks.button })}
        </div>`,
      });
    },
    act: async (context) => {
      const made = await context.api.run<{ webhookId: string; secret: string | null }>(
        'webhook.create-webhook',
        typedIn(context.form),
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
      return context.view.page({
        section: 'webhooks',
        back: toWebhook(context.address, webhook),
        title: `${webhooks.edit}: ${webhook.description ?? webhook.url}`,
        content: html`<div class="text">
          ${FormOf(context.form, { fields: await FieldsOf(context, webhook), button: webhooks.save, of: webhook })}
        </div>`,
      });
    },
    act: async (context) => {
      const webhookId = context.address.params.webhook!;
      context.form.requireSame(await webhookOf(context));
      await context.api.run('webhook.update-webhook', { webhookId, ...typedIn(context.form) });
      return { to: `webhooks/${webhookId}`, done: 'webhooks.changed' };
    },
  },
  step('pause', async ({ api }, webhookId) => {
    await api.run('webhook.pause-webhook', { webhookId });
    return 'webhooks.paused';
  }),
  step('resume', async ({ api }, webhookId) => {
    await api.run('webhook.resume-webhook', { webhookId });
    return 'webhooks.resumed';
  }),
  step('test', async ({ words, api }, webhookId) => {
    const { delivered, reason, statusCode } = await api.run<{
      delivered: boolean;
      reason: string | null;
      statusCode: number | null;
    }>('webhook.test-webhook', { webhookId });
    if (!delivered)
      throw new RpcError('BAD_REQUEST', words.webhooks.testFailed(reason ?? String(statusCode ?? '')));
    return 'webhooks.tested';
  }),
  {
    path: 'webhooks/:webhook/rotate',
    needs: 'webhook:write',
    show: async (context) => {
      const { webhooks } = context.words;
      const webhook = await webhookOf(context);
      return context.view.page({
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
      const webhookId = context.address.params.webhook!;
      const made = await context.api.run<{ secret: string | null }>('webhook.rotate-secret', {
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
      const from = TextField(context.form, { name: 'from', label: replaying.from, type: 'datetime-local' });
      return context.view.page({
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
    act: async ({ address, form, api }) => {
      const webhookId = address.params.webhook!;
      const from = form.typed('from');
      await api.run('webhook.replay-webhook', {
        webhookId,
        from: from === null ? '' : `${from.slice(0, 16)}:00Z`,
      });
      return { to: `webhooks/${webhookId}`, done: 'webhooks.replayed' };
    },
  },
  deletionPage({
    section: 'webhooks',
    record: 'webhook',
    find: async (context) => ({ name: (await webhookOf(context)).url }),
  }),
  ...listPages<DeliveryRecord>({
    path: 'webhooks/:webhook/deliveries',
    section: 'webhooks',
    needs: 'webhook:read',
    operation: 'webhook.list-deliveries',
    title: ({ webhooks }) => webhooks.deliveries.title,
    text: ({ webhooks }) => webhooks.deliveries.text,
    empty: ({ webhooks }) => webhooks.deliveries.none,
    search: ({ webhooks }) => webhooks.deliveries.search,
    searchIn: ({ type, outcome, statusCode, reason }, { words }) =>
      [eventIn(words, type), type, words.webhooks.deliveries.outcomes[outcome], statusCode, reason].join(' '),
    fields: ({ address: { params } }) => ({ webhookId: params.webhook }),
    back: async (context) => toWebhook(context.address, await webhookOf(context)),
    columns: [
      {
        name: ({ webhooks }) => webhooks.deliveries.event,
        cell: ({ type }, { words }) => eventIn(words, type),
      },
      {
        name: ({ webhooks }) => webhooks.deliveries.when,
        cell: ({ createdAt }) => new Date(createdAt),
        isObvious: true,
      },
      { name: ({ webhooks }) => webhooks.deliveries.attempt, cell: ({ attempt }) => attempt, isNumber: true },
      {
        name: ({ webhooks }) => webhooks.deliveries.outcome,
        cell: ({ outcome }, { words }) => words.webhooks.deliveries.outcomes[outcome],
        isObvious: true,
      },
      {
        name: ({ webhooks }) => webhooks.deliveries.answer,
        cell: ({ statusCode, reason }) => [statusCode, reason].filter((part) => part !== null).join(' '),
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
      const { id } = await webhookOf(context);
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

async function showWebhook(context: PageContext) {
  const { words } = context;
  const { webhooks } = words;
  const [webhook, past] = await Promise.all([
    webhookOf(context),
    ActivityLog(context, context.address.params.webhook!),
  ]);
  const { id, status, lastDelivery, eventTypes, lag } = webhook;
  const path = `webhooks/${id}`;
  const actions = context.person.may('webhook:write')
    ? [
        ButtonOf(context.address, `${path}/test`, webhooks.test),
        status === 'ACTIVE' || status === 'FAILING'
          ? ButtonOf(context.address, `${path}/pause`, webhooks.pause)
          : ButtonOf(context.address, `${path}/resume`, webhooks.resume, false),
        ButtonLink(context.address, `${path}/edit`, webhooks.edit, true),
        ButtonLink(context.address, `${path}/rotate`, webhooks.rotate, true),
        ButtonLink(context.address, `${path}/replay`, webhooks.replay, true),
        ButtonLink(context.address, `${path}/delete`, webhooks.delete, true),
      ]
    : [];
  const heard =
    eventTypes === null
      ? webhooks.allEvents
      : eventTypes.map((type) => eventIn(context.words, type)).join(', ');
  const last =
    lastDelivery === null
      ? webhooks.never
      : `${timeIn(words, lastDelivery.at)}: ${webhooks.deliveries.outcomes[lastDelivery.outcome]}`;
  return context.view.page({
    section: 'webhooks',
    back: toAll(context),
    title: webhook.description ?? webhook.url,
    content: html`<p>${BadgeOf(status, webhooks.statuses[status])}</p>
      ${Actions([ButtonLink(context.address, `${path}/deliveries`, webhooks.deliveries.title), ...actions])}
      ${Facts([
        { name: webhooks.url, value: webhook.url },
        { name: webhooks.events, value: heard },
        { name: webhooks.waiting, value: lag === null ? null : numberIn(words, lag) },
        { name: webhooks.last, value: last },
      ])}
      ${past}`,
  });
}

function toAll({ words, address }: PageContext) {
  return { href: address.path('webhooks'), text: words.webhooks.title };
}

function toWebhook(address: Address, { id, url, description }: WebhookRecord) {
  return { href: address.path(`webhooks/${id}`), text: description ?? url };
}

function webhookOf({ address, api }: PageContext): Promise<WebhookRecord> {
  return api.run<WebhookRecord>('webhook.get-webhook', { webhookId: address.params.webhook });
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
      return context.view.page({
        section: 'webhooks',
        title: `${button}: ${url}`,
        content: ConfirmForm(context, { text: url, button, back: `webhooks/${id}` }),
      });
    },
    act: async (context) => {
      const webhookId = context.address.params.webhook!;
      return { to: `webhooks/${webhookId}`, done: await work(context, webhookId) };
    },
  };
}

async function FieldsOf({ words, form, api }: PageContext, webhook?: WebhookRecord) {
  const { url, urlHint, description, events, eventsHint } = words.webhooks;
  const { records } = await api.run<{ records: { type: string }[] }>('webhook.list-event-types');
  return [
    TextField(form, {
      name: 'url',
      label: url,
      hint: urlHint,
      value: webhook?.url,
      type: 'url',
      max: 2_000,
    }),
    TextField(form, {
      name: 'description',
      label: description,
      value: webhook?.description,
      max: 500,
      isOptional: true,
    }),
    ChoiceField(form, {
      name: 'eventTypes',
      label: events,
      hint: eventsHint,
      isMany: true,
      values: webhook?.eventTypes ?? [],
      choices: records
        .map(({ type }) => ({ value: type, text: eventIn(words, type), group: kindOf(words, type) }))
        .toSorted(
          (one, other) =>
            one.group.localeCompare(other.group, words.locale) ||
            one.text.localeCompare(other.text, words.locale),
        ),
    }),
  ];
}

/** The kind of record that an event belongs to. */
function kindOf(words: DashboardWords, eventType: string): string {
  return kindIn(words, allEventTypes().find(({ type }) => type === eventType)!.streamType);
}

function typedIn(form: FormInput): Record<string, unknown> {
  const eventTypes = form.getAll('eventTypes');
  return {
    url: form.typed('url') ?? '',
    description: form.typed('description'),
    eventTypes: eventTypes.length === 0 ? null : eventTypes,
  };
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
