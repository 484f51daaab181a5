import { html, type Html, richText, trusted } from '#libs/pages';
import { findImage, pathOfImage } from './image-choice.js';
import { AreaField, Facts, TextField, TextForm } from './parts.js';
import { type FormInput, type PageContext } from './page-context.js';

/** Name of the preview button. */
const PREVIEW = 'preview';

/** Whether the form asks for a preview instead of saving. */
export function isPreview(form: FormInput): boolean {
  return form.has(PREVIEW);
}

/** The title of a petition or a post. For a new record it is the name, from which the operation creates the title. */
export function TitleField(
  form: FormInput,
  { value, ...options }: { label: string; hint?: string; isOptional?: boolean; value: string | undefined },
): Html {
  const field = value === undefined ? { name: 'name', max: 200 } : { name: 'title', value, max: 500 };
  return TextField(form, { ...options, ...field });
}

/** The typed title, or the name of a new record. */
export function typedTitle(form: FormInput): { name: string } | { title: string } {
  return form.has('name') ? { name: form.typed('name') ?? '' } : { title: form.typed('title') ?? '' };
}

/** The text of a petition or a post, in Markdown. Text in another program's format cannot be edited. */
export function ContentField(
  form: FormInput,
  content: unknown,
  { label, hint, foreign }: { label: string; hint: string; foreign: string },
): Html {
  if (content !== null && content !== undefined && typeof content !== 'string')
    return html`<p class="hint">${foreign}</p>`;
  return AreaField(form, { name: 'content', label, hint, value: content, markup: 'page', isOptional: true });
}

/** The typed text; empty if the form has no such field. */
export function typedContent(form: FormInput): { content?: string | null } {
  return form.has('content') ? { content: form.typed('content') } : {};
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
 * A form for a petition or a post, with a button that shows it as on the public page, at the width of a desktop, without saving. In
 * wide windows, a script shows it next to the form while someone types, at the width of a phone.
 *
 * @param heading used if there is no title. @param before stored values of parts without a field in the form.
 */
export async function WritingForm(
  context: PageContext,
  form: Parameters<typeof TextForm>[1],
  heading: string,
  about: { before?: Pick<Written, 'image' | 'content'> | undefined; facts?: Written['facts'] } = {},
): Promise<Html> {
  const { preview } = context.words.posts;
  const secondButton = html`<button class="button plain" name="${PREVIEW}" value="true">${preview}</button>`;
  return html`<div class="beside" data-watched>
      ${TextForm(context.form, { ...form, secondButton })}
      <section class="live" aria-labelledby="live" tabindex="0" hidden>
        <h2 id="live">${preview}</h2>
        <div data-live="${PREVIEW}"></div>
      </section>
    </div>
    ${isPreview(context.form) ? await PreviewOf(context, heading, about) : null}`;
}

async function PreviewOf(
  context: PageContext,
  heading: string,
  { before, facts }: Parameters<typeof WritingForm>[3] = {},
): Promise<Html> {
  const { form, words } = context;
  return html`<section class="section" id="preview" aria-labelledby="preview-title" tabindex="-1"${trusted(' autofocus')}>
    <h2 id="preview-title">${words.posts.preview}</h2>
    <p>${words.posts.previewText}</p>
    ${await WrittenOf({
      image: form.has('imageId')
        ? await findImage(context, context.form.typed('imageId'))
        : (before?.image ?? null),
      title: context.form.typed('name') ?? context.form.typed('title') ?? heading,
      description: context.form.typed('description'),
      ...(facts ? { facts } : {}),
      content: form.has('content') ? form.get('content') : before?.content,
    })}
  </section>`;
}
