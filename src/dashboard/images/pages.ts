import { html } from '#libs/pages';
import { invalid, RpcError } from '#libs/rpc';
import { deletionPage } from '../step-pages.js';
import { listPages } from '../list-pages.js';
import { type PageDefinition } from '../page.js';
import { ButtonLink, Actions, Facts, FileField, FormOf, numberIn, TextField } from '../parts.js';
import { ActivityLog } from '../activity-log.js';
import { type Api, type PageContext } from '../page-context.js';
import { type ImageRecord, pathOfImage, Thumb } from '../image-choice.js';

export const imagePages: PageDefinition[] = [
  ...listPages<ImageRecord>({
    path: 'images',
    section: 'images',
    needs: 'image:read',
    operation: 'image.list-images',
    title: ({ images }) => images.title,
    text: ({ images }) => images.text,
    empty: ({ images }) => images.none,
    search: ({ images }) => images.search,
    add: { path: 'images/new', text: ({ images }) => images.add, needs: 'image:write' },
    columns: [
      { name: ({ images }) => images.picture, cell: (image) => Thumb(image), exported: ({ url }) => url },
      {
        name: ({ nameOf }) => nameOf,
        cell: ({ id, name }, { address }) => html`<a href="${address.path(`images/${id}`)}">${name}</a>`,
        exported: ({ name }) => name,
      },
      { name: ({ images }) => images.alt, cell: ({ alt }) => alt },
      { name: ({ since }) => since, cell: ({ createdAt }) => new Date(createdAt) },
    ],
  }),
  {
    path: 'images/new',
    needs: 'image:write',
    takesFile: true,
    show: (context) => {
      const { images } = context.words;
      const fields = [
        ...NamesOf(context),
        FileField(context.form, {
          name: 'file',
          label: images.file,
          hint: images.fileHint,
          accept: 'image/*',
        }),
      ];
      return Promise.resolve(
        context.view.page({
          section: 'images',
          back: toImages(context),
          title: images.add,
          content: html`<div class="text">${FormOf(context.form, { fields, button: images.upload, takesFile: true })}</div>`,
        }),
      );
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
    path: 'images/:image',
    needs: 'image:read',
    changes: 'image:write',
    show: async (context) => {
      const { words } = context;
      const { images } = words;
      const [image, past] = await Promise.all([
        imageOf(context),
        ActivityLog(context, context.address.params.image!),
      ]);
      return context.view.page({
        section: 'images',
        back: toImages(context),
        title: image.name,
        content: html`<figure class="picture">
            <img src="${pathOfImage(image.url)}" alt="${image.alt ?? ''}" width="${image.width}" height="${image.height}" />
          </figure>
          ${Facts([
            {
              name: images.size,
              value: `${numberIn(words, image.width)} × ${numberIn(words, image.height)}`,
            },
            ...(context.person.may('image:write') ? [] : [{ name: images.alt, value: image.alt }]),
          ])}
          ${
            context.person.may('image:write')
              ? html`<div class="text">${FormOf(context.form, { fields: NamesOf(context, image), button: images.edit, of: image })}</div>
                  ${Actions([ButtonLink(context.address, `images/${image.id}/delete`, images.delete, true)])}`
              : null
          }
          ${past}`,
      });
    },
    act: async (context) => {
      const imageId = context.address.params.image;
      context.form.requireSame(await imageOf(context));
      await context.api.run('image.update-image', {
        imageId,
        name: context.form.typed('name') ?? '',
        alt: context.form.typed('alt'),
      });
      return { to: `images/${imageId!}`, done: 'images.changed' };
    },
  },
  deletionPage({ section: 'images', record: 'image', find: imageOf, fields: { detach: true } }),
];

function toImages({ words, address }: PageContext) {
  return { href: address.path('images'), text: words.images.title };
}

function imageOf({ address, api }: PageContext): Promise<ImageRecord> {
  return api.run<ImageRecord>('image.get-image', { imageId: address.params.image });
}

function NamesOf({ words, form }: PageContext, image?: ImageRecord) {
  const { name, alt, altHint } = words.images;
  return [
    TextField(form, { name: 'name', label: name, value: image?.name, max: 200, isOptional: !image }),
    TextField(form, {
      name: 'alt',
      label: alt,
      hint: altHint,
      value: image?.alt,
      max: 1_000,
      isOptional: true,
    }),
  ];
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
