import { html, type Html, richText } from '#libs/pages';
import { STATUSES } from '../../posts/index.js';
import { ImageField, pathOfImage } from '../image-choice.js';
import { deletionPage, stepPage } from '../step-pages.js';
import { FilterField, listPages } from '../list-pages.js';
import { type PageDefinition } from '../page.js';
import { AreaField, ButtonLink, ButtonOf, dateIn, Actions, FormOf, TextField } from '../parts.js';
import { ActivityLog } from '../activity-log.js';
import { type FormInput, type PageContext } from '../page-context.js';
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
    fields: ({ address }) => ({ status: address.query('status') }),
    filters: (context) => {
      const { status, statuses } = context.words.posts;
      const choices = STATUSES.map((value) => ({ value, text: statuses[value] }));
      return Promise.resolve([FilterField(context, { name: 'status', label: status, choices })]);
    },
    add: { path: 'posts/new', text: ({ posts }) => posts.add, needs: 'post:write' },
    columns: [
      {
        name: ({ posts }) => posts.fields.title,
        cell: ({ id, title }, { address }) => html`<a href="${address.path(`posts/${id}`)}">${title}</a>`,
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
      return context.view.page({
        section: 'posts',
        back: toPosts(context),
        title: posts.add,
        content: await WritingOf(context),
      });
    },
    act: async ({ form, api }) => {
      if (isPreview(form)) return form.again();
      const { postId } = await api.run<{ postId: string }>('post.create-post', typedIn(form));
      return { to: `posts/${postId}`, done: 'posts.created' };
    },
  },
  {
    path: 'posts/:post',
    needs: 'post:read',
    show: async (context) => {
      const { posts } = context.words;
      const [post, past] = await Promise.all([
        postOf(context),
        ActivityLog(context, context.address.params.post!),
      ]);
      const mayWrite = context.person.may('post:write');
      return context.view.page({
        section: 'posts',
        back: toPosts(context),
        title: post.title,
        content: html`<p><span class="badge">${posts.statuses[post.status]}</span></p>
          ${Actions([
            mayWrite ? ButtonLink(context.address, `posts/${post.id}/edit`, posts.edit) : null,
            mayWrite && post.status !== 'PUBLISHED'
              ? ButtonOf(context.address, `posts/${post.id}/publish`, posts.publish, false)
              : null,
            mayWrite && post.status === 'PUBLISHED'
              ? ButtonLink(context.address, `posts/${post.id}/archive`, posts.archive, true)
              : null,
            post.url !== null && post.status === 'PUBLISHED'
              ? html`<a class="button plain" href="${new URL(post.url).pathname}">${posts.open}</a>`
              : null,
            mayWrite ? ButtonLink(context.address, `posts/${post.id}/delete`, posts.delete, true) : null,
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
      return context.view.page({
        section: 'posts',
        back: { href: context.address.path(`posts/${post.id}`), text: post.title },
        title: `${context.words.posts.edit}: ${post.title}`,
        content: await WritingOf(context, post),
      });
    },
    act: async (context) => {
      if (isPreview(context.form)) return context.form.again();
      const postId = context.address.params.post!;
      context.form.requireSame(await postOf(context));
      await context.api.run('post.update-post', { postId, ...typedIn(context.form) });
      return { to: `posts/${postId}`, done: 'posts.changed' };
    },
  },
  step('publish', 'published'),
  step('archive', 'archived'),
  deletionPage({ section: 'posts', record: 'post', find: postOf }),
];

function step(step: 'publish' | 'archive', done: string): PageDefinition {
  return stepPage({
    section: 'posts',
    record: 'post',
    step,
    ask: async (context) => {
      const { title } = await postOf(context);
      const { [step]: button, publishing, archiving } = context.words.posts;
      return { title: `${button}: ${title}`, text: step === 'publish' ? publishing : archiving, button };
    },
    done,
  });
}

function toPosts({ words, address }: PageContext) {
  return { href: address.path('posts'), text: words.posts.title };
}

function postOf({ address, api }: PageContext): Promise<PostRecord> {
  return api.run<PostRecord>('post.get-post', { postId: address.params.post });
}

async function WritingOf(context: PageContext, post?: PostRecord): Promise<Html> {
  const { fields, save, add } = context.words.posts;
  const written = [
    TitleField(context.form, { label: fields.title, value: post?.title }),
    AreaField(context.form, {
      name: 'description',
      label: fields.description,
      hint: fields.descriptionHint,
      value: post?.description,
      isOptional: true,
    }),
    await ImageField(context, post?.imageId),
    ContentField(context.form, post?.content, {
      label: fields.content,
      hint: fields.contentHint,
      foreign: fields.foreign,
    }),
    TextField(context.form, {
      name: 'slug',
      label: fields.slug,
      hint: fields.slugHint,
      value: post?.slug,
      isOptional: true,
      max: 80,
    }),
  ];
  return html`<div class="text">
      ${FormOf(context.form, { fields: written, button: save, secondButton: PreviewButton(context.words), of: post })}
    </div>
    ${await PreviewOf(context, add, { before: post })}`;
}

function typedIn(form: FormInput): Record<string, unknown> {
  return {
    ...typedTitle(form),
    description: form.typed('description'),
    ...(form.has('imageId') ? { imageId: form.typed('imageId') } : {}),
    ...(form.typed('slug') === null ? {} : { slug: form.typed('slug') }),
    ...typedContent(form),
  };
}
