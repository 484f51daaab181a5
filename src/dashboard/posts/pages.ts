import { html, type Html, richText } from '#libs/pages';
import { STATUSES } from '../../posts/index.js';
import { ImageField, pathOfImage } from '../image-choice.js';
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
import { type PageContext } from '../page-context.js';
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
    fields: (context) => ({ status: context.query('status') }),
    filters: (context) => {
      const { status, statuses } = context.words.posts;
      const choices = STATUSES.map((value) => ({ value, text: statuses[value] }));
      return Promise.resolve([FilterField(context, { name: 'status', label: status, choices })]);
    },
    add: { path: 'posts/new', text: ({ posts }) => posts.add, needs: 'post:write' },
    columns: [
      {
        name: ({ posts }) => posts.fields.title,
        cell: ({ id, title }, context) => html`<a href="${context.path(`posts/${id}`)}">${title}</a>`,
        exported: ({ title }) => title,
      },
      { name: ({ state }) => state, cell: ({ status }, { words }) => words.posts.statuses[status] },
      { name: ({ made }) => made, cell: ({ createdAt }, { words }) => dateIn(words, createdAt) },
    ],
  }),
  {
    path: 'posts/new',
    needs: 'post:write',
    show: async (context) => {
      const { posts } = context.words;
      return context.page({
        section: 'posts',
        back: toPosts(context),
        title: posts.add,
        content: await WritingOf(context),
      });
    },
    act: async (context) => {
      if (isPreview(context)) return context.again();
      const { postId } = await context.run<{ postId: string }>('post.create-post', typedIn(context));
      return { to: `posts/${postId}`, done: 'posts.created' };
    },
  },
  {
    path: 'posts/:post',
    needs: 'post:read',
    show: async (context) => {
      const { posts } = context.words;
      const [post, past] = await Promise.all([postOf(context), ActivityLog(context, context.params.post!)]);
      const mayWrite = context.may('post:write');
      return context.page({
        section: 'posts',
        back: toPosts(context),
        title: post.title,
        content: html`<p><span class="badge">${posts.statuses[post.status]}</span></p>
          ${Actions([
            mayWrite ? ButtonLink(context, `posts/${post.id}/edit`, posts.edit) : null,
            mayWrite && post.status !== 'PUBLISHED'
              ? ButtonOf(context, `posts/${post.id}/publish`, posts.publish, false)
              : null,
            mayWrite && post.status === 'PUBLISHED'
              ? ButtonLink(context, `posts/${post.id}/archive`, posts.archive, true)
              : null,
            post.url !== null && post.status === 'PUBLISHED'
              ? html`<a class="button plain" href="${new URL(post.url).pathname}">${posts.open}</a>`
              : null,
            mayWrite ? ButtonLink(context, `posts/${post.id}/delete`, posts.delete, true) : null,
          ])}
          ${
            post.image
              ? html`<figure class="picture"><img src="${pathOfImage(post.image.url)}" alt="${post.image.alt}" /></figure>`
              : null
          }
          <div class="text">
            ${post.description === null ? null : html`<p class="lead">${post.description}</p>`}
            ${await richText.show(post.content)}
          </div>
          ${past}`,
      });
    },
  },
  {
    path: 'posts/:post/edit',
    needs: 'post:write',
    show: async (context) => {
      const post = await postOf(context);
      return context.page({
        section: 'posts',
        back: { href: context.path(`posts/${post.id}`), text: post.title },
        title: `${context.words.posts.edit}: ${post.title}`,
        content: await WritingOf(context, post),
      });
    },
    act: async (context) => {
      if (isPreview(context)) return context.again();
      const postId = context.params.post!;
      context.requireSame(await postOf(context));
      await context.run('post.update-post', { postId, ...typedIn(context) });
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
    show: async (context) => {
      const { id, title } = await postOf(context);
      const { posts } = context.words;
      const button = posts[path];
      return context.page({
        section: 'posts',
        title: `${button}: ${title}`,
        content: ConfirmForm(context, {
          text: path === 'publish' ? posts.publishing : posts.archiving,
          button,
          back: `posts/${id}`,
        }),
      });
    },
    act: async (context) => {
      await context.run(operation, { postId: context.params.post });
      return { to: `posts/${context.params.post!}`, done };
    },
  };
}

function toPosts(context: PageContext) {
  return { href: context.path('posts'), text: context.words.posts.title };
}

function postOf(context: PageContext): Promise<PostRecord> {
  return context.run<PostRecord>('post.get-post', { postId: context.params.post });
}

async function WritingOf(context: PageContext, post?: PostRecord): Promise<Html> {
  const { fields, save, add } = context.words.posts;
  const written = [
    TitleField(context, { label: fields.title, value: post?.title }),
    AreaField(context, {
      name: 'description',
      label: fields.description,
      hint: fields.descriptionHint,
      value: post?.description,
      isOptional: true,
    }),
    await ImageField(context, post?.imageId),
    ContentField(context, post?.content, {
      label: fields.content,
      hint: fields.contentHint,
      foreign: fields.foreign,
    }),
    TextField(context, {
      name: 'slug',
      label: fields.slug,
      hint: fields.slugHint,
      value: post?.slug,
      isOptional: true,
      max: 80,
    }),
  ];
  return html`<div class="text">
      ${FormOf(context, { fields: written, button: save, secondButton: PreviewButton(context), of: post })}
    </div>
    ${await PreviewOf(context, add, { before: post })}`;
}

function typedIn(context: PageContext): Record<string, unknown> {
  const { form } = context;
  return {
    ...typedTitle(context),
    description: context.typed('description'),
    ...(form.has('imageId') ? { imageId: context.typed('imageId') } : {}),
    ...(context.typed('slug') === null ? {} : { slug: context.typed('slug') }),
    ...typedContent(context),
  };
}
