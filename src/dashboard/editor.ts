import { html, type Html } from '#libs/pages';
import { type DashboardWords } from '#locales';
import { Icon } from './icons.js';
import { pathOfScript } from './scripts.js';

const TOOLS = [
  ...(['bold', 'italic', 'heading', 'subheading'] as const),
  ...(['bullets', 'numbers', 'quote', 'link', 'undo', 'redo'] as const),
];

/** What the script `editor` needs to replace the Markdown field before it. Only emails have merge fields. */
export function EditorOf({ editor }: DashboardWords, isMail: boolean): Html {
  return html`<template data-editor="${isMail ? 'mail' : 'page'}">
      <div role="toolbar" aria-label="${editor.tools}">
        ${TOOLS.map(
          (tool) =>
            html`<button type="button" data-tool="${tool}" aria-label="${editor[tool]}" title="${editor[tool]}">${Icon(tool)}</button>`,
        )}
        <button type="button" data-tool="markdown">Markdown</button>
      </div>
      <p class="hint" role="status" hidden>${editor.foreign}</p>
      <dialog class="sheet">
        <form method="dialog">
          <div class="field"><label>${editor.address} <input type="text" inputmode="url" autocomplete="off" /></label></div>
          <p class="hint">${editor.addressHint}</p>
          <ul class="actions">
            <li><button class="button" value="apply">${editor.apply}</button></li>
            <li><button class="button plain" value="">${editor.cancel}</button></li>
          </ul>
        </form>
      </dialog>
    </template>
    <script type="module" src="${pathOfScript('editor')}"></script>`;
}
