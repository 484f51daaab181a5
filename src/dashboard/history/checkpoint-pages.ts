import { html, type Html } from '#libs/pages';
import { noSuch } from '#libs/rpc';
import { Checkpoints } from '#libs/sealing';
import { faultIn } from '../faults.js';
import { type PageDefinition } from '../page.js';
import {
  ButtonLink,
  Actions,
  Facts,
  Folded,
  numberIn,
  RefusalOf,
  SectionOf,
  TextField,
  timeIn,
} from '../parts.js';
import { type Api, type PageContext } from '../page-context.js';
import { fileOf, sealed, toHistory } from './sealed.js';

export type Checkpoint = {
  checkpoint: string;
  witnessed: string | null;
  parts: string;
  size: number;
  consistency: string[];
  proof: string | null;
};

const TEXT = 'text/plain; charset=utf-8';

/** Checkpoints for auditors, with their proofs, as files in the formats of transparency log tools. */
export const checkpointPages: PageDefinition[] = [
  {
    path: 'history/checkpoints',
    needs: 'history:read',
    show: (context) => sealed(context, () => showCheckpoints(context)),
  },
  {
    path: 'history/checkpoint',
    needs: 'history:read',
    show: (context) =>
      sealed(context, async () => {
        const { checkpoint, size } = await checkpointOf(context.api);
        return fileOf(TEXT, `checkpoint-${size}.txt`, checkpoint);
      }),
  },
  file('witnessed', ({ witnessed }) => witnessed),
  file('parts', ({ parts }) => parts),
  file('tlog-proof', ({ proof }) => proof),
  {
    path: 'history/checkpoint/key',
    needs: 'history:read',
    show: ({ api }) => Promise.resolve(fileOf(TEXT, 'key.txt', `${keyOf(api)}\n`)),
  },
  {
    path: 'history/checkpoint/consistency',
    needs: 'history:read',
    show: (context) =>
      sealed(context, async () => {
        const { size, consistency, checkpoint } = await checkpointOf(
          context.api,
          context.address.query('size'),
        );
        const older = Number(context.address.query('size') ?? size);
        const text = `${JSON.stringify({ older, size, path: consistency, checkpoint }, null, 2)}\n`;
        return fileOf('application/json; charset=utf-8', `consistency-${older}-${size}.json`, text);
      }),
  },
];

/** Serves a file that belongs to the latest checkpoint. 404 if it does not exist. */
function file(name: string, textOf: (checkpoint: Checkpoint) => string | null): PageDefinition {
  return {
    path: `history/checkpoint/${name}`,
    needs: 'history:read',
    show: (context) =>
      sealed(context, async () => {
        const checkpoint = await checkpointOf(context.api);
        const text = textOf(checkpoint);
        if (text === null) throw noSuch('checkpoint');
        return fileOf(TEXT, `checkpoint-${checkpoint.size}.${name}`, text);
      }),
  };
}

export function checkpointOf(api: Api, size?: string): Promise<Checkpoint> {
  return api.run<Checkpoint>('history.get-checkpoint', { size });
}

export function keyOf(api: Api): string {
  return api.find(Checkpoints).keyOf(api.organizationId);
}

async function showCheckpoints(context: PageContext) {
  const { words } = context;
  const { checkpoints: said } = words.history;
  const { checkpoint, witnessed, proof, size } = await checkpointOf(context.api);
  const older = OlderOf(context, size);
  return context.view.page({
    section: 'history',
    back: toHistory(context),
    title: said.title,
    content: html`<p class="lead">${said.text}</p>
      ${SectionOf(said.newest, [
        Facts([
          { name: said.size, value: numberIn(words, size) },
          { name: said.sealedAt, value: timeIn(words, sealedAtOf(checkpoint)) },
        ]),
        html`<pre class="code" tabindex="0">${checkpoint}</pre>`,
        Actions([
          ButtonLink(context.address, 'history/checkpoint', said.download),
          ButtonLink(context.address, 'history/verify', words.history.verify, true),
        ]),
        witnessed === null
          ? html`<p>${said.noWitness}</p>`
          : html`<p>${said.witnessed(numberIn(words, sizeOf(witnessed)))}
              <a href="${context.address.path('history/checkpoint/witnessed')}">${said.downloadWitnessed}</a></p>`,
        html`<ul>
          <li>${said.parts} <a href="${context.address.path('history/checkpoint/parts')}">${said.downloadParts}</a></li>
          ${proof === null ? null : html`<li>${said.inAll} <a href="${context.address.path('history/checkpoint/tlog-proof')}">${said.downloadInAll}</a></li>`}
        </ul>`,
      ])}
      ${SectionOf(said.key, [
        html`<p>${said.keyText}</p>`,
        html`<pre class="code" tabindex="0">${keyOf(context.api)}</pre>`,
        html`<p><a href="${context.address.path('history/checkpoint/key')}">${said.downloadKey}</a></p>`,
      ])}
      ${SectionOf(said.older, older)} ${SectionOf(said.log, await LogOf(context))}
      ${Folded(said.how, [
        html`<p>${said.howText}</p>`,
        html`<pre class="code" tabindex="0">${COMMAND}</pre>`,
      ])}`,
  });
}

/** The same command as in docs/guides/audit-log.md. */
const COMMAND = 'npm run -s cli -- history verify events.ndjson --checkpoint checkpoint.txt --key key.txt';

/** Proves that the history of an older checkpoint is the beginning of the current one. */
function OlderOf({ words, address, form }: PageContext, size: number): Html {
  const { checkpoints: said } = words.history;
  const asked = address.query('size');
  const isRight =
    asked !== undefined && /^\d{1,15}$/.test(asked) && Number(asked) >= 1 && Number(asked) <= size;
  if (asked !== undefined && !isRight) {
    const text = faultIn(words.faults, `must be a whole number from 1 to ${size}`);
    form.fields = new URLSearchParams({ size: asked });
    form.refusal = { status: 422, faults: [{ field: 'size', text }], text: undefined };
  }
  const field = TextField(form, {
    name: 'size',
    label: said.olderSize,
    hint: said.olderHint,
    type: 'number',
    value: asked,
  });
  return html`<p>${said.olderText}</p>
    ${RefusalOf(form)}
    <form method="get" novalidate>${field}<p><button class="button plain">${said.olderButton}</button></p></form>
    ${
      isRight
        ? html`<p class="done" role="status">${said.isBeginning(numberIn(words, Number(asked)), numberIn(words, size))}</p>
            <p><a href="${address.path(`history/checkpoint/consistency?size=${asked}`)}">${said.downloadOlder}</a></p>`
        : null
    }`;
}

async function LogOf({ words, api }: PageContext): Promise<Html> {
  const { log, logPublic, logPrivate } = words.history.checkpoints;
  const { publicLog } = await api.run<{ publicLog: boolean }>('organization.get-organization');
  return publicLog
    ? html`<p>${logPublic} <a href="/log/${api.organizationId}/checkpoint">${log}</a></p>`
    : html`<p>${logPrivate}</p>`;
}

/** Lines 2 and 5 of a checkpoint: docs/spec/history-format.md, "Checkpoint". */
const sizeOf = (note: string) => Number(note.split('\n')[1]);
const sealedAtOf = (note: string) => note.split('\n')[4]!.replace('sealed ', '');
