import { html, type Html } from '#libs/pages';
import { type PageContext } from './page-context.js';
import { pathOfScript } from './scripts.js';
import { places, sectionOf } from './sections.js';

/** Checkboxes for records of one kind. `field`: their name, and the id of their fieldset. `isWhole`: none is missing. */
type Picked = { object: string; field: string; content: Html; isWhole: boolean };

/**
 * Checkboxes of several kinds of records. With scripts, one field searches all of them, also records without a checkbox, and those
 * that are ticked are shown as chips.
 */
export function PickerOf(
  { words, address }: PageContext,
  id: string,
  label: string,
  all: readonly Picked[],
): Html {
  const { hint, none, remove, deleted } = words.picker;
  const kinds = all.map(({ object, field, isWhole }) => ({
    field,
    object,
    name: words.kinds[object],
    path: address.path(places()[sectionOf(object)!]!.path),
    isWhole,
  }));
  const texts = { id, label, hint, none, remove, deleted, search: address.path('search') };
  return html`<div data-picker="${JSON.stringify({ ...texts, kinds })}">
    <div>${all.map(({ content }) => content)}</div>
    <script type="module" src="${pathOfScript('picker')}"></script>
  </div>`;
}
