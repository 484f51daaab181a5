import { html, type Page } from '#libs/pages';
import { type StreamedAnswer } from '#libs/rpc';
import { type PageDefinition } from '../page.js';
import { pathOfScript } from '../scripts.js';
import { type PageContext } from '../page-context.js';
import { checkpointOf, checkpointPages, keyOf } from './checkpoint-pages.js';
import { eventPages } from './event-pages.js';
import { sealed, toHistory } from './sealed.js';

export const historyPages: PageDefinition[] = [
  ...eventPages,
  ...checkpointPages,
  {
    path: 'history/export',
    needs: 'history:read',
    show: ({ api }) => api.run<StreamedAnswer>('history.export-events'),
  },
  {
    path: 'history/verify',
    needs: 'history:read',
    show: (context) => sealed(context, () => showVerifying(context)),
  },
];

async function showVerifying(context: PageContext): Promise<Page> {
  const { words } = context;
  const { verifying } = words.history;
  const { checkpoint } = await checkpointOf(context.api);
  return context.view.page({
    section: 'history',
    back: toHistory(context),
    title: verifying.title,
    scripts: ['verify'],
    content: html`<div class="text">
          <p class="lead">${verifying.text}</p>
          <noscript><p>${verifying.script}</p></noscript>
          <form
            hidden
            data-export="${context.address.path('history/export')}"
            data-worker="${pathOfScript('verify-worker')}"
            data-dates="${context.words.dates}"
            data-words="${JSON.stringify(verifying)}"
          >
            <div class="field">
              <label for="key">${verifying.key}</label>
              <p class="hint" id="key-hint">${verifying.keyHint}</p>
              <p class="fault" id="key-fault" hidden>${verifying.noKey}</p>
              <input id="key" name="key" value="${keyOf(context.api)}" aria-describedby="key-hint" spellcheck="false" />
            </div>
            <div class="field">
              <label for="checkpoint">${verifying.checkpoint}</label>
              <p class="hint" id="checkpoint-hint">${verifying.checkpointHint}</p>
              <p class="fault" id="checkpoint-fault" hidden>${verifying.noCheckpoint}</p>
              <textarea id="checkpoint" name="checkpoint" aria-describedby="checkpoint-hint" spellcheck="false">
${checkpoint}</textarea
              >
            </div>
            <p>
              <button class="button" data-start>${verifying.start}</button>
              <button class="button plain" type="button" data-stop hidden>${verifying.stop}</button>
            </p>
            <p data-progress hidden></p>
            <progress hidden aria-label="${verifying.working}"></progress>
            <div data-result tabindex="-1"></div>
          </form>
        </div>`,
  });
}
