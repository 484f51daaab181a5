import { html, type Html, richText } from '#libs/pages';
import { STATUSES } from '../../posts/index.js';
import { ImageField, pathOfImage } from '../image-choice.js';
import { createdColumn, filteredBy, statusColumn } from '../list-pages.js';
import { type PageDefinition } from '../page.js';
import {
  type Choice,
  BadgeOf,
  Actions,
  Facts,
  fieldsFor,
  PublicLink,
  SelectField,
  timeIn,
} from '../parts.js';
import { recordPages } from '../record-pages.js';
import { choicesWith } from '../contacts/contact.js';
import { choiceOf } from '../saved-views.js';
import { requireFuture, TimeField, timeZoneOf, typedTime } from '../time-zone.js';
import { emailPage } from './email-page.js';
import { type PostRecord } from './post.js';
import { type FormInput, type PageContext } from '../page-context.js';
import { ContentField, isPreview, TitleField, typedContent, typedTitle, WritingForm } from '../written.js';

const posts = recordPages<PostRecord>({ section: 'posts', record: 'post' });

export const postPages: PageDefinition[] = [
  ...posts.list({
    ...filteredBy(
      'status',
      ({ posts }) => posts.status,
      ({ posts: { statuses } }) => STATUSES.map((value) => ({ value, text: statuses[value] })),
    ),
    columns: [posts.titleColumn(({ posts }) => posts.fields.title), statusColumn('posts'), createdColumn()],
  }),
  ...posts.writing({
    keepsDrafts: true,
    content: WritingOf,
    isAgain: isPreview,
    input: async (context, post) => {
      const fields = typedIn(context.form, await timeZoneOf(context), post);
      requireFuture(`post.${post ? 'update' : 'create'}-post`, fields, 'publishAt', post?.publishAt ?? null);
      return fields;
    },
  }),
  posts.shown(async (context, post, { mayWrite, link, press }) => {
    const { posts } = context.words;
    const { status, url, image, description } = post;
    const isPublic = status === 'PUBLISHED';
    const petition = await petitionOf(context, post);
    return html`<p>${BadgeOf(status, posts.statuses[status])}</p>
      ${Actions(
        [
          mayWrite && !isPublic && press('publish', posts.publish, false),
          mayWrite && link('edit', posts.edit, !isPublic),
          mayWrite && isPublic && link('archive', posts.archive),
          isPublic && PublicLink(url, posts.open),
          petition && context.person.may('broadcast:write') ? link('email', posts.emailing.title) : null,
          mayWrite && link('delete', posts.delete),
        ],
        context.words,
      )}
      ${await FactsOf(context, post, petition)}
      ${
        image
          ? html`<figure class="picture"><img src="${pathOfImage(image.url)}" alt="${image.alt}" /></figure>`
          : null
      }
      <div class="text">
        ${description === null ? null : html`<p class="lead">${description}</p>`}
        ${await richText.show(post.content)}
      </div>`;
  }),
  posts.step('publish', {
    ask: ({ words: { posts } }, { title }) => ({
      title: `${posts.publish}: ${title}`,
      ...{ text: posts.publishing, button: posts.publish },
    }),
    done: 'published',
  }),
  posts.step('archive', {
    ask: ({ words: { posts } }, { title }) => ({
      title: `${posts.archive}: ${title}`,
      ...{ text: posts.archiving, button: posts.archive },
    }),
    done: 'archived',
  }),
  emailPage,
  posts.deletion(),
];

/** The petition that the post is about; undefined if there is none, it was deleted, or the person may not see it. */
async function petitionOf(
  { person, api }: PageContext,
  { petitionId }: PostRecord,
): Promise<Choice | undefined> {
  return petitionId === null || !person.may('petition:read')
    ? undefined
    : choiceOf(api, 'petition', petitionId);
}

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
  const { optionalText, optionalArea } = fieldsFor(context.form, fields, post);
  const written = [
    TitleField(context.form, { label: fields.title, value: post?.title }),
    optionalArea('description'),
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
    optionalText('slug', { max: 80 }),
  ];
  const form = { fields: written, button: save, of: post, writer: context.person };
  return WritingForm(context, form, add, { before: post });
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
