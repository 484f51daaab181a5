import { html, type Html } from '#libs/pages';
import { RpcError } from '#libs/rpc';
import { type DashboardWords } from '#locales';
import { UnsavedPreviews } from '../../broadcasts/index.js';
import { type FieldRecord } from '../../fields/index.js';
import { customFieldsOf } from '../contacts/custom-values.js';
import { mailPage } from '../document.js';
import { faultIn, MISSING } from '../faults.js';
import { type PageContext } from '../page-context.js';
import { pathOfScript } from '../scripts.js';
import { type BroadcastRecord, faultWithin } from './broadcast.js';

const PATH = 'broadcasts/preview';

/** The message in the form that was sent, as its recipients would see it. Saves nothing. */
export async function showUnsaved(context: PageContext, fields: Record<string, unknown>) {
  const { words, api } = context;
  const { details } = words.broadcasts.live.sample;
  const recipient = { ...details, bio: null, customFields: valuesOf(await customFieldsOf(context)) };
  try {
    const mail = await api.find(UnsavedPreviews).htmlOf(api.organizationId, fields, recipient);
    return mailPage(words, mail, { isMeasured: true });
  } catch (error) {
    const faults = faultsOf(words, error);
    if (!faults) throw error;
    const message = isOnlyMissing(error)
      ? html`<p style="margin:0">${words.broadcasts.live.nothing}</p>`
      : html`<h1 style="margin:0 0 8px;font-size:17px">${words.faults.title}</h1>
          ${faults.map((fault) => html`<p style="margin:0 0 8px">${fault}</p>`)}`;
    return mailPage(words, String(DocumentOf(words, message)), { isMeasured: true });
  }
}

/** Whether the form is incomplete, and nothing in it is wrong. */
function isOnlyMissing(error: unknown): boolean {
  const { issues = [] } = error instanceof RpcError ? error.details : {};
  return issues.length > 0 && issues.every(({ message }) => MISSING.test(message));
}

/** What prevents a preview, with the names of the fields; undefined if another page shows the error. */
export function faultsOf(words: DashboardWords, error: unknown): string[] | undefined {
  if (!(error instanceof RpcError) || !['BAD_REQUEST', 'CONFLICT'].includes(error.code)) return undefined;
  const { issues = [] } = error.details;
  return issues.map(({ path, message }) => faultWithin(words, path, faultIn(words.faults, message)));
}

/** Shown in the place of the email. The frame is white unless its document has a background. */
function DocumentOf(words: DashboardWords, message: Html): Html {
  return html`<!doctype html>
    <html lang="${words.locale}" style="background:Canvas;color-scheme:light dark">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width" />
        <title></title>
      </head>
      <body style="margin:16px;font:17px/1.4 system-ui,sans-serif;overflow-wrap:anywhere">
        ${message}
      </body>
    </html>`;
}

/** A sample value for each custom field, so that none seems to be missing. */
function valuesOf(fields: readonly FieldRecord[]) {
  return Object.fromEntries(
    fields.map(({ id, name, type, options }) => {
      const [option = name] = options ?? [];
      const values = {
        TEXT: name,
        NUMBER: 1,
        DATE: '2000-01-31',
        BOOLEAN: true,
        CHOICE: option,
        CHOICES: [option],
      };
      return [id, values[type]];
    }),
  );
}

/**
 * The button that opens the preview in a new tab, and the place next to the form where a script shows it instead.
 *
 * @param like the broadcast whose parts without a field in the form are kept.
 */
export function UnsavedPreview({ words, address }: PageContext, like: BroadcastRecord | undefined) {
  const { preview, frame, live } = words.broadcasts;
  const path = address.path(like ? `${PATH}?like=${like.id}` : PATH);
  const width = (name: 'phone' | 'desktop', isChosen: boolean) =>
    html`<label><input type="radio" name="width"${isChosen ? html` checked` : null} value="${name}" />${live[name]}</label>`;
  return {
    button: html`<button class="button plain" formaction="${path}" formtarget="_blank">${preview}</button>`,
    panel: html`<section class="mail" aria-labelledby="mail" hidden>
        <div class="widths">
          <h2 id="mail" tabindex="-1">${preview}</h2>
          <fieldset>
            <legend class="pot">${live.width}</legend>
            ${width('phone', true)} ${width('desktop', false)}
          </fieldset>
        </div>
        <p data-subject></p>
        <iframe sandbox="allow-same-origin" title="${frame}"></iframe>
        <p class="hint">${live.sample.note}</p>
      </section>
      <script type="module" src="${pathOfScript('mail-preview')}"></script>`,
  };
}
