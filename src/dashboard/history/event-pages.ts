import { html } from '#libs/pages';
import { writeProof } from '#libs/sealing';
import { type EventRecord, withoutPersonal } from '../../history/index.js';
import { type PageDefinition } from '../page.js';
import { ButtonLink, Actions, Facts, numberIn, SectionOf, timeIn } from '../parts.js';
import { eventIn } from '../activity-log.js';
import { type PageContext } from '../page-context.js';
import { DataOf, pageOfRecord } from './event-data.js';
import { customFieldsOf } from '../contacts/custom-values.js';
import { kindIn, showEvents } from './event-list.js';
import { fileOf, sealed, toHistory } from './sealed.js';
import { keysIn, namesOf } from './who.js';

type Proof = { event: { position: number }; index: number; path: string[]; checkpoint: string };

/** The history, and each event with its proof. The history records every read, so no page reads more than it shows. */
export const eventPages: PageDefinition[] = [
  { path: 'history', needs: 'history:read', show: showEvents },
  { path: 'history/events/:event', needs: 'history:read', show: showEvent },
  {
    path: 'history/events/:event/proof',
    needs: 'history:read',
    show: (context) =>
      sealed(context, async () => {
        const proof = await proofOf(context);
        const name = `event-${proof.event.position}-proof.json`;
        return fileOf('application/json; charset=utf-8', name, `${JSON.stringify(proof, null, 2)}\n`);
      }),
  },
  {
    path: 'history/events/:event/tlog-proof',
    needs: 'history:read',
    show: (context) =>
      sealed(context, async () => {
        const { event, index, path, checkpoint: note } = await proofOf(context);
        const hashes = path.map((hash) => Buffer.from(hash, 'base64'));
        const text = writeProof({ index, path: hashes, checkpoint: { note } });
        return fileOf('text/plain; charset=utf-8', `event-${event.position}.tlog-proof`, text);
      }),
  },
];

function proofOf({ address, api }: PageContext): Promise<Proof> {
  return api.run<Proof>('history.get-proof', { eventId: address.params.event });
}

async function showEvent(context: PageContext) {
  const { words } = context;
  const { event: said, when, who } = words.history;
  const event = await context.api.run<EventRecord>('history.get-event', {
    eventId: context.address.params.event,
  });
  const { id, recordType, recordId, requestId, actor, occurredAt } = event;
  const nameOf = await namesOf(context, [actor], actor.type === 'api-key' ? await keysIn(context) : []);
  const linked = (to: string | undefined, text: string) =>
    to === undefined ? text : html`<a href="${to}">${text}</a>`;
  const ofActor =
    actor.id === null ? undefined : context.address.path(`history?actorId=${encodeURIComponent(actor.id)}`);
  return context.view.page({
    section: 'history',
    back: toHistory(context),
    title: eventIn(context.words, event.type),
    content: html`${Facts([
      {
        name: when,
        value: html`${timeIn(words, occurredAt)}<br /><span class="small">${occurredAt.toISOString()}</span>`,
      },
      { name: who, value: linked(ofActor, nameOf(actor)) },
      {
        name: said.record,
        value: linked(pageOfRecord(context, recordType, recordId), kindIn(context.words, recordType)),
      },
      { name: said.version, value: numberIn(words, event.version) },
      { name: said.position, value: numberIn(words, event.position) },
      { name: said.id, value: id },
      {
        name: said.request,
        value: linked(context.address.path(`history?requestId=${encodeURIComponent(requestId)}`), requestId),
      },
    ])}
      ${Actions([ButtonLink(context.address, `history?recordId=${recordId}`, said.all, true)])}
      ${SectionOf(said.data, await SaidBy(context, event))}
      ${SectionOf(said.proof, [
        html`<p>${said.proofText}</p>`,
        Actions([
          ButtonLink(context.address, `history/events/${id}/proof`, said.download),
          ButtonLink(context.address, `history/events/${id}/tlog-proof`, said.downloadNote, true),
        ]),
        html`<details>
          <summary>${said.how}</summary>
          <ol>${said.steps.map((step) => html`<li>${step}</li>`)}</ol>
        </details>`,
      ])}`,
  });
}

async function SaidBy(context: PageContext, { data, recordType }: EventRecord) {
  const { event: words } = context.words.history;
  if (data === null) return html`<p>${words.damaged}</p>`;
  const { data: said, personal } = withoutPersonal(data);
  // The personal data of an API key is the hash of its secret, which is never shown.
  const isPersonal = personal !== undefined && recordType !== 'api-key';
  const isEmpty = Object.keys(said).length === 0;
  const fields = personal?.customFields === undefined ? [] : await customFieldsOf(context);
  const names = new Map(fields.map(({ id, name }) => [id, name]));
  return [
    isEmpty ? (isPersonal ? null : html`<p>${words.none}</p>`) : DataOf(context, said),
    isPersonal ? html`<h3>${words.personal}</h3>` : null,
    isPersonal ? (personal === null ? html`<p>${words.erased}</p>` : DataOf(context, personal, names)) : null,
    isEmpty && !isPersonal
      ? null
      : html`<details>
          <summary>${words.json}</summary>
          <pre class="code" tabindex="0">${JSON.stringify(data, null, 2)}</pre>
        </details>`,
  ];
}
