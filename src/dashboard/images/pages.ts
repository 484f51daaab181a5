import { CopyOf, html } from '#libs/pages';
import { invalid, RpcError } from '#libs/rpc';
import { createdColumn } from '../list-pages.js';
import { type PageDefinition } from '../page.js';
import { Actions, Facts, fieldsFor, FileField, numberIn, TextForm } from '../parts.js';
import { recordPages } from '../record-pages.js';
import { type Api, type PageContext } from '../page-context.js';
import { type ImageRecord, pathOfImage, Thumb } from '../image-choice.js';

const images = recordPages<ImageRecord>({ section: 'images', record: 'image' });

export const imagePages: PageDefinition[] = [
  ...images.list({
    columns: [
      { name: ({ images }) => images.picture, cell: (image) => Thumb(image), exported: ({ url }) => url },
      images.titleColumn(),
      { name: ({ images }) => images.alt, cell: ({ alt }) => alt },
      createdColumn(({ since }) => since),
    ],
  }),
  {
    path: 'images/new',
    needs: 'image:write',
    takesFile: true,
    show: (context) => {
      const { add, upload, file, fileHint } = context.words.images;
      const fields = [
        ...NamesOf(context),
        FileField(context.form, { name: 'file', label: file, hint: fileHint, accept: 'image/*' }),
      ];
      return context.view.page({
        section: 'images',
        back: images.toAll(context),
        title: add,
        content: TextForm(context.form, { fields, button: upload, takesFile: true }),
      });
    },
    act: async (context) => {
      const file = await context.form.upload();
      if (!file) throw invalid([{ path: 'file', message: 'is not a file' }]);
      const { mediaType, bytes } = file;
      const fields = {
        name: context.form.typed('name') ?? file.name.slice(-200),
        alt: context.form.typed('alt') ?? undefined,
      };
      const body = { mediaType, contentType: mediaType, bytes };
      const { imageId } = await uploaded(context.api, fields, body);
      const isKnown = await updateNames(context, imageId);
      return { to: `images/${imageId}`, done: isKnown ? 'images.known' : 'images.uploaded' };
    },
  },
  {
    ...images.shown(({ words, form }, image, { mayWrite, link }) => {
      const { images } = words;
      const size = `${numberIn(words, image.width)} × ${numberIn(words, image.height)}`;
      return html`<figure class="picture">
          <img src="${pathOfImage(image.url)}" alt="${image.alt ?? ''}" width="${image.width}" height="${image.height}" />
        </figure>
        ${CopyOf(
          { name: 'url', label: images.address, copy: words.copy, copied: words.copied },
          (attributes) => html`<input ${attributes} value="${image.url}" />`,
        )}
        ${Facts([{ name: images.size, value: size }, ...(mayWrite ? [] : [{ name: images.alt, value: image.alt }])])}
        ${
          mayWrite
            ? html`${TextForm(form, { fields: NamesOf({ words, form }, image), button: images.edit, of: image })}
                ${Actions([link('delete', images.delete)])}`
            : null
        }`;
    }),
    changes: 'image:write',
    act: async (context) => {
      const imageId = context.address.params.image;
      context.form.requireSame(await images.find(context));
      await context.api.run('image.update-image', {
        imageId,
        name: context.form.typed('name') ?? '',
        alt: context.form.typed('alt'),
      });
      return { to: `images/${imageId!}`, done: 'images.changed' };
    },
  },
  images.deletion({ fields: { detach: true } }),
];

function NamesOf({ words, form }: Pick<PageContext, 'words' | 'form'>, image?: ImageRecord) {
  const { text, optionalText } = fieldsFor(form, words.images, image);
  return [text('name', { max: 200, isOptional: !image }), optionalText('alt', { max: 1_000 })];
}

/** @throws RpcError BAD_REQUEST with an issue of the `file` field. */
async function uploaded(api: Api, fields: Record<string, unknown>, body: Parameters<Api['run']>[2]) {
  try {
    return await api.run<{ imageId: string }>('image.upload-image', fields, body);
  } catch (error) {
    if (!(error instanceof RpcError) || error.details.issues?.some(({ path }) => path !== '')) throw error;
    const message = FAULTS_OF_FILES[error.code];
    throw message === undefined ? error : invalid([{ path: 'file', message }]);
  }
}

/** Uploading the same bytes returns the existing image. This updates its name and description. @returns whether they changed */
async function updateNames({ form, api }: PageContext, imageId: string): Promise<boolean> {
  const known = await api.run<ImageRecord>('image.get-image', { imageId });
  const name = form.typed('name') ?? known.name;
  const alt = form.typed('alt') ?? known.alt;
  if (name === known.name && alt === known.alt) return false;
  await api.run('image.update-image', { imageId, name, alt });
  return true;
}

const FAULTS_OF_FILES: Partial<Record<string, string>> = {
  UNSUPPORTED_MEDIA_TYPE: 'is not an image',
  BAD_REQUEST: 'is a picture that cannot be read',
  PAYLOAD_TOO_LARGE: 'is too large an image',
};
