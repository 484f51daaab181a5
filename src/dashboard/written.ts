import { html, type Html, trusted } from '#libs/pages';
import { findImage, pathOfImage } from './images/choice.js';
import { AreaField, Facts, TextField } from './parts.js';
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

type Written = {
  image: { url: string; alt: string | null } | null;
  title: string;
  description: string | null;
  /** What else its page says, above the text. */
  facts?: readonly { name: string; value: string | null }[];
  content: unknown;
};

/** A petition or a post, as its public page shows it. */
export async function WrittenOf({ image, title, description, facts = [], content }: Written): Promise<Html> {
  const said = facts.filter(({ value }) => value !== null);
  return html`<div class="preview">
    ${
      image
        ? html`<figure class="picture"><img src="${pathOfImage(image.url)}" alt="${image.alt ?? ''}" /></figure>`
        : null
    }
    <div class="text">
      <h3>${title}</h3>
      ${description === null ? null : html`<p class="lead">${description}</p>`}
      ${said.length === 0 ? null : Facts(said)} ${await richTextOf(content)}
    </div>
  </div>`;
}

/**
 * What was typed, as the public page will show it; nothing unless it was asked for.
 *
 * @param heading in place of a title. @param before what stays where the form has no field for it.
 */
export async function PreviewOf(
  visit: Visit,
  heading: string,
  {
    before,
    facts,
  }: { before?: Pick<Written, 'image' | 'content'> | undefined; facts?: Written['facts'] } = {},
): Promise<Html | null> {
  if (!isPreview(visit)) return null;
  const { form, words } = visit;
  return html`<section class="section" id="preview" aria-labelledby="preview-title" tabindex="-1"${trusted(' autofocus')}>
    <h2 id="preview-title">${words.posts.preview}</h2>
    <p>${words.posts.previewText}</p>
    ${await WrittenOf({
      image: form.has('imageId') ? await findImage(visit, visit.typed('imageId')) : (before?.image ?? null),
      title: visit.typed('name') ?? visit.typed('title') ?? heading,
      description: visit.typed('description'),
      ...(facts ? { facts } : {}),
      content: form.has('content') ? form.get('content') : before?.content,
    })}
  </section>`;
}
