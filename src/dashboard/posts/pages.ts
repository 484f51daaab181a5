import { html, type Html, richText } from '#libs/pages';
import { STATUSES } from '../../posts/index.js';
import { ImageField, pathOfImage } from '../image-choice.js';
import { deletionPage, stepPage } from '../step-pages.js';
import { FilterField, listPages } from '../list-pages.js';
import { type PageDefinition } from '../page.js';
import {
  AreaField,
  ButtonLink,
  ButtonOf,
  type Choice,
  BadgeOf,
  Actions,
  Facts,
  FormOf,
  SelectField,
  TextField,
  timeIn,
} from '../parts.js';
import { choiceOf, choicesWith } from '../contacts/contact.js';
import { requireFuture, TimeField, timeZoneOf, typedTime } from '../time-zone.js';
import { emailPage } from './email-page.js';
import { postOf, type PostRecord } from './post.js';
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
      {
        name: ({ state }) => state,
        cell: ({ status }, { words }) => words.posts.statuses[status],
        badge: ({ status }) => status,
        isObvious: true,
      },
      { name: ({ made }) => made, cell: ({ createdAt }) => new Date(createdAt) },
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
    act: async (context) => {
      const { form, api } = context;
      if (isPreview(form)) return form.again();
      const fields = typedIn(form, await timeZoneOf(context));
      requireFuture('post.create-post', fields, 'publishAt', null);
      const { postId } = await api.run<{ postId: string }>('post.create-post', fields);
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
      const petition = await petitionOf(context, post);
      return context.view.page({
        section: 'posts',
        back: toPosts(context),
        title: post.title,
        content: html`<p>${BadgeOf(post.status, posts.statuses[post.status])}</p>
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
            petition && context.person.may('broadcast:write')
              ? ButtonLink(context.address, `posts/${post.id}/email`, posts.emailing.title, true)
              : null,
            mayWrite ? ButtonLink(context.address, `posts/${post.id}/delete`, posts.delete, true) : null,
          ])}
          ${await FactsOf(context, post, petition)}
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
      const post = await postOf(context);
      context.form.requireSame(post);
      const fields = { postId, ...typedIn(context.form, await timeZoneOf(context), post) };
      requireFuture('post.update-post', fields, 'publishAt', post.publishAt);
      await context.api.run('post.update-post', fields);
      return { to: `posts/${postId}`, done: 'posts.changed' };
    },
  },
  step('publish', 'published'),
  step('archive', 'archived'),
  emailPage,
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

/** The petition that the post is about; undefined if there is none, it was deleted, or the person may not see it. */
async function petitionOf(
  { person, api }: PageContext,
  { petitionId }: PostRecord,
): Promise<Choice | undefined> {
  return petitionId === null || !person.may('petition:read')
    ? undefined
    : choiceOf(api, 'petition', petitionId);
}

/** When the post will be published, and the petition that it is about. */
async function FactsOf(
  context: PageContext,
  { publishAt }: PostRecord,
  petition?: Choice,
): Promise<Html | null> {
  const { words, address } = context;
  const { fields } = words.posts;
  const facts = [
    ...(publishAt === null
      ? []
      : [{ name: words.posts.publishAt, value: timeIn(words, publishAt, await timeZoneOf(context)) }]),
    ...(petition === undefined
      ? []
      : [
          {
            name: fields.petition,
            value: html`<a href="${address.path(`petitions/${petition.value}`)}">${petition.text}</a>`,
          },
        ]),
  ];
  return facts.length === 0 ? null : Facts(facts);
}

async function WritingOf(context: PageContext, post?: PostRecord): Promise<Html> {
  const { fields, save, add } = context.words.posts;
  const petitions = await choicesWith(context, 'petition', post?.petitionId ? [post.petitionId] : []);
  const timeZone = await timeZoneOf(context);
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
    petitions.length === 0
      ? null
      : SelectField(context.form, {
          name: 'petitionId',
          label: fields.petition,
          hint: fields.petitionHint,
          value: post?.petitionId,
          choices: [{ value: '', text: fields.noPetition }, ...petitions],
        }),
    post?.status === 'PUBLISHED'
      ? null
      : TimeField(context.form, timeZone, {
          name: 'publishAt',
          label: fields.publishAt(timeZone),
          value: post?.publishAt,
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

function typedIn(form: FormInput, timeZone: string, post?: PostRecord): Record<string, unknown> {
  return {
    ...typedTitle(form),
    description: form.typed('description'),
    ...(form.has('imageId') ? { imageId: form.typed('imageId') } : {}),
    ...(form.has('petitionId') ? { petitionId: form.typed('petitionId') } : {}),
    ...(form.has('publishAt')
      ? { publishAt: typedTime(form, 'publishAt', timeZone, post?.publishAt ?? null) }
      : {}),
    ...(form.typed('slug') === null ? {} : { slug: form.typed('slug') }),
    ...typedContent(form),
  };
}
