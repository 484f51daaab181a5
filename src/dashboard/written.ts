import { html, type Html, trusted } from '#libs/pages';
import { AreaField, TextField } from './parts.js';
import { richTextOf } from './rich-text.js';
import { type Visit } from './visit.js';

/** Name of the button that shows what was written, and saves nothing. */
const PREVIEW = 'preview';

/** Whether the form asks for a preview in place of being saved. */
export function isPreview({ form }: Visit): boolean {
  return form.has(PREVIEW);
}

/** The title of a petition or a post. What is new is named by it: of a name the operation makes the title. */
export function TitleField(
  visit: Visit,
  { value, ...options }: { label: string; hint?: string; value: string | undefined },
): Html {
  const field = value === undefined ? { name: 'name', max: 200 } : { name: 'title', value, max: 500 };
  return TextField(visit, { ...options, ...field });
}

/** What the form says of it. */
export function typedTitle(visit: Visit): { name: string } | { title: string } {
  return visit.form.has('name') ? { name: visit.typed('name') ?? '' } : { title: visit.typed('title') ?? '' };
}

/** The text of a petition or a post, in Markdown; null where another program wrote it, in a form of its own. */
export function ContentField(
  visit: Visit,
  content: unknown,
  { label, hint, foreign }: { label: string; hint: string; foreign: string },
): Html {
  if (content !== null && content !== undefined && typeof content !== 'string')
    return html`<p class="hint">${foreign}</p>`;
  return AreaField(visit, { name: 'content', label, hint, value: content, isLong: true, isOptional: true });
}

/** What the form says of the text: nothing where it has no such field. */
export function typedContent(visit: Visit): { content?: string | null } {
  return visit.form.has('content') ? { content: visit.typed('content') } : {};
}

/** Beside the button that saves: the same form, shown as it will look. */
export function PreviewButton({ words }: Visit): Html {
  return html`<button class="button plain" name="${PREVIEW}" value="true">${words.posts.preview}</button>`;
}

/** What was typed, as the public page shows it; nothing unless it was asked for. */
export async function PreviewOf(visit: Visit, heading: string): Promise<Html | null> {
  if (!isPreview(visit)) return null;
  const { form, words } = visit;
  const text = await richTextOf(form.get('content'));
  const lead = visit.typed('description');
  return html`<section class="section" id="preview" aria-labelledby="preview-title" tabindex="-1"${trusted(' autofocus')}>
    <h2 id="preview-title">${words.posts.preview}</h2>
    <p>${words.posts.previewText}</p>
    <div class="preview text">
      <h2>${visit.typed('name') ?? visit.typed('title') ?? heading}</h2>
      ${lead === null ? null : html`<p class="lead">${lead}</p>`} ${text}
    </div>
  </section>`;
}
