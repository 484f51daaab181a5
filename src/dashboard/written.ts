import { html, type Html, richText, trusted } from '#libs/pages';
import { findImage, pathOfImage } from './image-choice.js';
import { AreaField, Facts, TextField } from './parts.js';
import { type PageContext } from './page-context.js';

/** Name of the preview button. */
const PREVIEW = 'preview';

/** Whether the form asks for a preview instead of saving. */
export function isPreview({ form }: PageContext): boolean {
  return form.has(PREVIEW);
}

/** The title of a petition or a post. For a new record it is the name, from which the operation creates the title. */
export function TitleField(
  context: PageContext,
  { value, ...options }: { label: string; hint?: string; value: string | undefined },
): Html {
  const field = value === undefined ? { name: 'name', max: 200 } : { name: 'title', value, max: 500 };
  return TextField(context, { ...options, ...field });
}

/** The typed title, or the name of a new record. */
export function typedTitle(context: PageContext): { name: string } | { title: string } {
  return context.form.has('name')
    ? { name: context.typed('name') ?? '' }
    : { title: context.typed('title') ?? '' };
}

/** The text of a petition or a post, in Markdown. Text in another program's format cannot be edited. */
export function ContentField(
  context: PageContext,
  content: unknown,
  { label, hint, foreign }: { label: string; hint: string; foreign: string },
): Html {
  if (content !== null && content !== undefined && typeof content !== 'string')
    return html`<p class="hint">${foreign}</p>`;
  return AreaField(context, { name: 'content', label, hint, value: content, isLong: true, isOptional: true });
}

/** The typed text; empty if the form has no such field. */
export function typedContent(context: PageContext): { content?: string | null } {
  return context.form.has('content') ? { content: context.typed('content') } : {};
}

/** Requests a preview of the form. Next to the save button. */
export function PreviewButton({ words }: PageContext): Html {
  return html`<button class="button plain" name="${PREVIEW}" value="true">${words.posts.preview}</button>`;
}

type Written = {
  image: { url: string; alt: string | null } | null;
  title: string;
  description: string | null;
  /** Facts above the text. */
  facts?: readonly { name: string; value: string | null }[];
  content: unknown;
};

/** A petition or a post as on its public page. */
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
      ${said.length === 0 ? null : Facts(said)} ${await richText.show(content)}
    </div>
  </div>`;
}

/**
 * A preview of the typed input as on the public page; null unless the form asks for it.
 *
 * @param heading used if there is no title. @param before stored values of parts without a field in the form.
 */
export async function PreviewOf(
  context: PageContext,
  heading: string,
  {
    before,
    facts,
  }: { before?: Pick<Written, 'image' | 'content'> | undefined; facts?: Written['facts'] } = {},
): Promise<Html | null> {
  if (!isPreview(context)) return null;
  const { form, words } = context;
  return html`<section class="section" id="preview" aria-labelledby="preview-title" tabindex="-1"${trusted(' autofocus')}>
    <h2 id="preview-title">${words.posts.preview}</h2>
    <p>${words.posts.previewText}</p>
    ${await WrittenOf({
      image: form.has('imageId')
        ? await findImage(context, context.typed('imageId'))
        : (before?.image ?? null),
      title: context.typed('name') ?? context.typed('title') ?? heading,
      description: context.typed('description'),
      ...(facts ? { facts } : {}),
      content: form.has('content') ? form.get('content') : before?.content,
    })}
  </section>`;
}
