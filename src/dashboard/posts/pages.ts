import { html, type Html } from '#libs/pages';
import { ImageField, pathOfImage } from '../images/choice.js';
import { deletionPage } from '../deletion-page.js';
import { FilterField, listPages } from '../list-pages.js';
import { type PageDefinition } from '../page.js';
import {
  AreaField,
  ConfirmForm,
  ButtonLink,
  ButtonOf,
  dateIn,
  Actions,
  FormOf,
  TextField,
} from '../parts.js';
import { ActivityLog } from '../activity-log.js';
import { richTextOf } from '../rich-text.js';
import { type Visit } from '../visit.js';
import {
  ContentField,
  isPreview,
  PreviewButton,
  PreviewOf,
  TitleField,
  typedContent,
  typedTitle,
} from '../written.js';

type PostRecord = {
  updatedAt: string;
  id: string;
  createdAt: string;
  name: string;
  title: string;
  description: string | null;
  imageId: string | null;
  image: { url: string; alt: string } | null;
  status: 'DRAFT' | 'PUBLISHED' | 'ARCHIVED';
  content: unknown;
  slug: string | null;
  url: string | null;
};

const STATUSES = ['DRAFT', 'PUBLISHED', 'ARCHIVED'] as const;

export const postPages: PageDefinition[] = [
  ...listPages<PostRecord>({
    path: 'posts',
    section: 'posts',
    needs: 'post:read',
    operation: 'post.list-posts',
    title: ({ posts }) => posts.title,
    text: ({ posts }) => posts.text,
    empty: ({ posts }) => posts.none,
    search: ({ posts }) => posts.search,
    fields: (visit) => ({ status: visit.query('status') }),
    filters: (visit) => {
      const { status, statuses } = visit.words.posts;
      const choices = STATUSES.map((value) => ({ value, text: statuses[value] }));
      return Promise.resolve([FilterField(visit, { name: 'status', label: status, choices })]);
    },
    add: { path: 'posts/new', text: ({ posts }) => posts.add, needs: 'post:write' },
    columns: [
      {
        name: ({ posts }) => posts.fields.title,
        cell: ({ id, title }, visit) => html`<a href="${visit.path(`posts/${id}`)}">${title}</a>`,
        exported: ({ title }) => title,
      },
      { name: ({ state }) => state, cell: ({ status }, { words }) => words.posts.statuses[status] },
      { name: ({ made }) => made, cell: ({ createdAt }, { words }) => dateIn(words, createdAt) },
    ],
  }),
  {
    path: 'posts/new',
    needs: 'post:write',
    show: async (visit) => {
      const { posts } = visit.words;
      return visit.page({
        section: 'posts',
        back: toPosts(visit),
        title: posts.add,
        content: await WritingOf(visit),
      });
    },
    act: async (visit) => {
      if (isPreview(visit)) return visit.again();
      const { postId } = await visit.run<{ postId: string }>('post.create-post', typedIn(visit));
      return { to: `posts/${postId}`, done: 'posts.created' };
    },
  },
  {
    path: 'posts/:post',
    needs: 'post:read',
    show: async (visit) => {
      const { posts } = visit.words;
      const [post, past] = await Promise.all([postOf(visit), ActivityLog(visit, visit.params.post!)]);
      const mayWrite = visit.may('post:write');
      return visit.page({
        section: 'posts',
        back: toPosts(visit),
        title: post.title,
        content: html`<p><span class="badge">${posts.statuses[post.status]}</span></p>
          ${Actions([
            mayWrite ? ButtonLink(visit, `posts/${post.id}/edit`, posts.edit) : null,
            mayWrite && post.status !== 'PUBLISHED'
              ? ButtonOf(visit, `posts/${post.id}/publish`, posts.publish, false)
              : null,
            mayWrite && post.status === 'PUBLISHED'
              ? ButtonLink(visit, `posts/${post.id}/archive`, posts.archive, true)
              : null,
            post.url !== null && post.status === 'PUBLISHED'
              ? html`<a class="button plain" href="${new URL(post.url).pathname}">${posts.open}</a>`
              : null,
            mayWrite ? ButtonLink(visit, `posts/${post.id}/delete`, posts.delete, true) : null,
          ])}
          ${
            post.image
              ? html`<figure class="picture"><img src="${pathOfImage(post.image.url)}" alt="${post.image.alt}" /></figure>`
              : null
          }
          <div class="text">
            ${post.description === null ? null : html`<p class="lead">${post.description}</p>`}
            ${await richTextOf(post.content)}
          </div>
          ${past}`,
      });
    },
  },
  {
    path: 'posts/:post/edit',
    needs: 'post:write',
    show: async (visit) => {
      const post = await postOf(visit);
      return visit.page({
        section: 'posts',
        back: { href: visit.path(`posts/${post.id}`), text: post.title },
        title: `${visit.words.posts.edit}: ${post.title}`,
        content: await WritingOf(visit, post),
      });
    },
    act: async (visit) => {
      if (isPreview(visit)) return visit.again();
      const postId = visit.params.post!;
      visit.requireSame(await postOf(visit));
      await visit.run('post.update-post', { postId, ...typedIn(visit) });
      return { to: `posts/${postId}`, done: 'posts.changed' };
    },
  },
  step('publish', 'post.publish-post', 'posts.published'),
  step('archive', 'post.archive-post', 'posts.archived'),
  deletionPage({ section: 'posts', record: 'post', find: postOf }),
];

/** Asks for confirmation, and performs the step. */
function step(path: 'publish' | 'archive', operation: string, done: string): PageDefinition {
  return {
    path: `posts/:post/${path}`,
    needs: 'post:write',
    show: async (visit) => {
      const { id, title } = await postOf(visit);
      const { posts } = visit.words;
      const button = posts[path];
      return visit.page({
        section: 'posts',
        title: `${button}: ${title}`,
        content: ConfirmForm(visit, {
          text: path === 'publish' ? posts.publishing : posts.archiving,
          button,
          back: `posts/${id}`,
        }),
      });
    },
    act: async (visit) => {
      await visit.run(operation, { postId: visit.params.post });
      return { to: `posts/${visit.params.post!}`, done };
    },
  };
}

function toPosts(visit: Visit) {
  return { href: visit.path('posts'), text: visit.words.posts.title };
}

function postOf(visit: Visit): Promise<PostRecord> {
  return visit.run<PostRecord>('post.get-post', { postId: visit.params.post });
}

async function WritingOf(visit: Visit, post?: PostRecord): Promise<Html> {
  const { fields, save, add } = visit.words.posts;
  const written = [
    TitleField(visit, { label: fields.title, value: post?.title }),
    AreaField(visit, {
      name: 'description',
      label: fields.description,
      hint: fields.descriptionHint,
      value: post?.description,
      isOptional: true,
    }),
    await ImageField(visit, post?.imageId),
    ContentField(visit, post?.content, {
      label: fields.content,
      hint: fields.contentHint,
      foreign: fields.foreign,
    }),
    TextField(visit, {
      name: 'slug',
      label: fields.slug,
      hint: fields.slugHint,
      value: post?.slug,
      isOptional: true,
      max: 80,
    }),
  ];
  return html`<div class="text">
      ${FormOf(visit, { fields: written, button: save, beside: PreviewButton(visit), of: post })}
    </div>
    ${await PreviewOf(visit, add, { before: post })}`;
}

function typedIn(visit: Visit): Record<string, unknown> {
  const { form } = visit;
  return {
    ...typedTitle(visit),
    description: visit.typed('description'),
    ...(form.has('imageId') ? { imageId: visit.typed('imageId') } : {}),
    ...(visit.typed('slug') === null ? {} : { slug: visit.typed('slug') }),
    ...typedContent(visit),
  };
}
