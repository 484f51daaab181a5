import { html, type Html } from '#libs/pages';
import { type DashboardWords } from '#locales';
import { Icon } from './icons.js';
import { pathOfScript } from './scripts.js';

const TOOLS = [
  ...(['bold', 'italic', 'heading', 'subheading'] as const),
  ...(['bullets', 'numbers', 'quote', 'link', 'image', 'undo', 'redo'] as const),
];

/** The toolbar and dialogs with which the script `editor` replaces the Markdown field before them. Only emails have merge fields. */
export function EditorOf({ editor, images, faults }: DashboardWords, isMail: boolean): Html {
  return html`<template data-editor="${isMail ? 'mail' : 'page'}">
      <div role="toolbar" aria-label="${editor.tools}">
        ${TOOLS.map(
          (tool) =>
            html`<button type="button" data-tool="${tool}" aria-label="${editor[tool]}" title="${editor[tool]}">${Icon(tool === 'image' ? 'images' : tool)}</button>`,
        )}
        <button type="button" data-tool="markdown">Markdown</button>
      </div>
      <p class="hint" role="status" hidden>${editor.foreign}</p>
      <p class="faults" role="alert" hidden>${editor.notUploaded}</p>
      ${DialogOf(editor, { name: 'link', label: editor.address, hint: editor.addressHint, apply: editor.apply, wrong: faults.webAddress })}
      ${DialogOf(editor, { name: 'image', label: images.alt, hint: images.altHint, apply: editor.insertImage })}
      <input type="file" accept="image/*" hidden aria-label="${editor.image}" data-wrong="${faults.noPicture}" />
    </template>
    <script type="module" src="${pathOfScript('editor')}"></script>`;
}

type DialogOptions = { name: string; label: string; hint: string; apply: string; wrong?: string };

/** Asks for one text. */
function DialogOf(
  { cancel }: DashboardWords['editor'],
  { name, label, hint, apply, wrong }: DialogOptions,
): Html {
  return html`<dialog class="sheet" data-dialog="${name}">
    <form method="dialog">
      <div class="field"><label>${label} <input type="text" autocomplete="off" data-wrong="${wrong}" /></label></div>
      <p class="hint">${hint}</p>
      <ul class="actions">
        <li><button class="button" value="apply">${apply}</button></li>
        <li><button class="button plain" value="" formnovalidate>${cancel}</button></li>
      </ul>
    </form>
  </dialog>`;
}
