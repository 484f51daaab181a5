import { html } from '#libs/pages';
import { invalid, RpcError } from '#libs/rpc';
import { deletionPage } from '../deletion-page.js';
import { listPages } from '../list-pages.js';
import { type PageDefinition } from '../page.js';
import { ButtonLink, dateIn, Actions, Facts, FileField, FormOf, numberIn, TextField } from '../parts.js';
import { ActivityLog } from '../activity-log.js';
import { type Visit } from '../visit.js';
import { type ImageRecord, pathOfImage, Thumb } from './choice.js';

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
        cell: ({ id, name }, visit) => html`<a href="${visit.path(`images/${id}`)}">${name}</a>`,
        exported: ({ name }) => name,
      },
      { name: ({ images }) => images.alt, cell: ({ alt }) => alt },
      { name: ({ since }) => since, cell: ({ createdAt }, { words }) => dateIn(words, createdAt) },
    ],
  }),
  {
    path: 'images/new',
    needs: 'image:write',
    takesFile: true,
    show: (visit) => {
      const { images } = visit.words;
      const fields = [
        ...NamesOf(visit),
        FileField(visit, { name: 'file', label: images.file, hint: images.fileHint, accept: 'image/*' }),
      ];
      return Promise.resolve(
        visit.page({
          section: 'images',
          back: toImages(visit),
          title: images.add,
          content: html`<div class="text">${FormOf(visit, { fields, button: images.upload, takesFile: true })}</div>`,
        }),
      );
    },
    act: async (visit) => {
      const file = await visit.upload();
      if (!file) throw invalid([{ path: 'file', message: 'is no file' }]);
      const { mediaType, bytes } = file;
      const fields = {
        name: visit.typed('name') ?? file.name.slice(-200),
        alt: visit.typed('alt') ?? undefined,
      };
      const body = { mediaType, contentType: mediaType, bytes };
      const { imageId } = await uploaded(visit, fields, body);
      const isKnown = await nameAnew(visit, imageId);
      return { to: `images/${imageId}`, done: isKnown ? 'images.known' : 'images.uploaded' };
    },
  },
  {
    path: 'images/:image',
    needs: 'image:read',
    changes: 'image:write',
    show: async (visit) => {
      const { words } = visit;
      const { images } = words;
      const [image, past] = await Promise.all([imageOf(visit), ActivityLog(visit, visit.params.image!)]);
      return visit.page({
        section: 'images',
        back: toImages(visit),
        title: image.name,
        content: html`<figure class="picture">
            <img src="${pathOfImage(image.url)}" alt="${image.alt ?? ''}" width="${image.width}" height="${image.height}" />
          </figure>
          ${Facts([
            {
              name: images.size,
              value: `${numberIn(words, image.width)} × ${numberIn(words, image.height)}`,
            },
            ...(visit.may('image:write') ? [] : [{ name: images.alt, value: image.alt }]),
          ])}
          ${
            visit.may('image:write')
              ? html`<div class="text">${FormOf(visit, { fields: NamesOf(visit, image), button: images.edit, of: image })}</div>
                  ${Actions([ButtonLink(visit, `images/${image.id}/delete`, images.delete, true)])}`
              : null
          }
          ${past}`,
      });
    },
    act: async (visit) => {
      const imageId = visit.params.image;
      visit.requireSame(await imageOf(visit));
      await visit.run('image.update-image', {
        imageId,
        name: visit.typed('name') ?? '',
        alt: visit.typed('alt'),
      });
      return { to: `images/${imageId!}`, done: 'images.changed' };
    },
  },
  deletionPage({ section: 'images', record: 'image', find: imageOf, fields: { detach: true } }),
];

function toImages(visit: Visit) {
  return { href: visit.path('images'), text: visit.words.images.title };
}

function imageOf(visit: Visit): Promise<ImageRecord> {
  return visit.run<ImageRecord>('image.get-image', { imageId: visit.params.image });
}

function NamesOf(visit: Visit, image?: ImageRecord) {
  const { name, alt, altHint } = visit.words.images;
  return [
    TextField(visit, { name: 'name', label: name, value: image?.name, max: 200, isOptional: !image }),
    TextField(visit, {
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
async function uploaded(visit: Visit, fields: Record<string, unknown>, body: Parameters<Visit['run']>[2]) {
  try {
    return await visit.run<{ imageId: string }>('image.upload-image', fields, body);
  } catch (error) {
    if (!(error instanceof RpcError) || error.details.issues?.some(({ path }) => path !== '')) throw error;
    const message = FAULTS_OF_FILES[error.code];
    throw message === undefined ? error : invalid([{ path: 'file', message }]);
  }
}

/** Uploading the same bytes returns the existing image. Updates its name and description. @returns whether they changed. */
async function nameAnew(visit: Visit, imageId: string): Promise<boolean> {
  const known = await visit.run<ImageRecord>('image.get-image', { imageId });
  const name = visit.typed('name') ?? known.name;
  const alt = visit.typed('alt') ?? known.alt;
  if (name === known.name && alt === known.alt) return false;
  await visit.run('image.update-image', { imageId, name, alt });
  return true;
}

const FAULTS_OF_FILES: Partial<Record<string, string>> = {
  UNSUPPORTED_MEDIA_TYPE: 'is no picture',
  BAD_REQUEST: 'is a picture that cannot be read',
  PAYLOAD_TOO_LARGE: 'is too large a picture',
};
