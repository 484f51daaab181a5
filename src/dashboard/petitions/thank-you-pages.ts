import { html, type Html } from '#libs/pages';
import { sendTest, TestForm } from '../broadcasts/test-form.js';
import { MergeFields } from '../broadcasts/writing-pages.js';
import { customFieldsOf } from '../contacts/custom-values.js';
import { mailPage } from '../document.js';
import { type PageDefinition } from '../page.js';
import { type FormInput, type PageContext } from '../page-context.js';
import { AreaField, ButtonLink, Facts, FormOf, numberIn, SectionOf, TextField } from '../parts.js';
import { petitionOf, type PetitionRecord } from './petition.js';

type Preview = { subject: string; html: string; text: string };
type Counts = Record<'sent' | 'waiting' | 'skipped' | 'failed' | 'inDoubt', number>;

const path = 'petitions/:petition/thanks';

/** What signers see and receive after signing. */
export const thankYouPages: PageDefinition[] = [
  {
    path,
    needs: 'petition:write',
    show: async (context) => {
      const { form, words } = context;
      const { thanks } = words.petitions;
      const petition = await petitionOf(context);
      const { thankYou, thankYouMail } = petition;
      const fields = [
        html`<h2>${thanks.page}</h2>`,
        ...ThankYouFields(context, thankYou),
        html`<h2>${thanks.mail}</h2>
          <p class="hint">${thanks.mailText}</p>`,
        TextField(form, {
          ...{ name: 'thankYouMail.subject', label: thanks.subject, isOptional: true, max: 200 },
          value: thankYouMail?.subject,
        }),
        AreaField(form, {
          ...{ name: 'thankYouMail.content', label: thanks.content, isOptional: true, isLong: true },
          hint: words.posts.fields.contentHint,
          value: thankYouMail?.content,
        }),
        MergeFields(words, await customFieldsOf(context)),
      ];
      return page(
        context,
        petition,
        thanks.title,
        html`<div class="text">
        ${FormOf(form, { fields, button: words.petitions.save, of: petition })}
        ${
          thankYouMail
            ? html`<p>${ButtonLink(context.address, `petitions/${petition.id}/thanks/preview`, thanks.preview, true)}
              ${context.person.may('broadcast:send') ? ButtonLink(context.address, `petitions/${petition.id}/thanks/test`, words.broadcasts.test.title, true) : null}</p>`
            : null
        }
      </div>
      ${await OutcomesOf(context)}`,
      );
    },
    act: async (context) => {
      const { form, address, api } = context;
      const petition = await petitionOf(context);
      form.requireSame(petition);
      const fields = { petitionId: petition.id, ...typedIn(form) };
      await api.run('petition.update-petition', fields);
      return { to: `petitions/${address.params.petition!}/thanks`, done: 'petitions.changed' };
    },
  },
  {
    path: `${path}/preview`,
    needs: 'petition:read',
    show: async (context) => {
      const { broadcasts, petitions } = context.words;
      const [petition, { subject, text }] = [await petitionOf(context), await previewOf(context)];
      return page(
        context,
        petition,
        petitions.thanks.preview,
        html`<p class="lead">${subject}</p>
        <iframe sandbox title="${broadcasts.frame}" src="${context.address.path(`petitions/${petition.id}/thanks/mail`)}"></iframe>
        ${SectionOf(broadcasts.previewText, html`<pre class="code" tabindex="0">${text}</pre>`)}`,
      );
    },
  },
  {
    path: `${path}/mail`,
    needs: 'petition:read',
    show: async (context) => mailPage(context.words, (await previewOf(context)).html),
  },
  {
    path: `${path}/test`,
    needs: 'broadcast:send',
    show: async (context) =>
      page(context, await petitionOf(context), context.words.broadcasts.test.title, TestForm(context)),
    act: async ({ words, address, form, api }) => {
      const petitionId = address.params.petition!;
      await sendTest({ words, form, api }, 'petition.send-thank-you-test', { petitionId });
      return { to: `petitions/${petitionId}/thanks`, done: 'broadcasts.tested' };
    },
  },
];

/** Inputs for what a page shows after signing or subscribing. */
export function ThankYouFields({ form, words }: PageContext, thankYou: PetitionRecord['thankYou']): Html[] {
  const { thanks } = words.petitions;
  const field = (name: 'title' | 'nextUrl' | 'nextLabel', type: 'text' | 'url' = 'text') =>
    TextField(form, {
      ...{
        name: `thankYou.${name}`,
        label: name === 'title' ? words.petitions.fields.title : thanks[name],
        type,
        isOptional: true,
      },
      value: thankYou?.[name],
      ...(name === 'nextUrl' ? { hint: thanks.nextUrlHint } : {}),
    });
  return [
    field('title'),
    AreaField(form, {
      ...{ name: 'thankYou.text', label: words.posts.fields.content, isOptional: true },
      hint: words.posts.fields.contentHint,
      value: thankYou?.text,
    }),
    field('nextLabel'),
    field('nextUrl', 'url'),
  ];
}

export function typedThankYou(form: FormInput): Record<string, string | null> {
  const fields = ['title', 'text', 'nextUrl', 'nextLabel'] as const;
  return Object.fromEntries(fields.map((name) => [name, form.typed(`thankYou.${name}`)]));
}

function page(
  { address, view }: PageContext,
  { id, title: petition }: { id: string; title: string },
  title: string,
  content: ReturnType<typeof html>,
) {
  const isFirst = address.path(`petitions/${id}`);
  return view.page({ section: 'petitions', back: { href: isFirst, text: petition }, title, content });
}

function previewOf({ address, api }: PageContext): Promise<Preview> {
  return api.run<Preview>('petition.preview-thank-you', { petitionId: address.params.petition });
}

/** How many emails were sent; null if there are none. */
async function OutcomesOf({ words, address, api }: PageContext) {
  const { thankYouMails } = await api.run<{ thankYouMails: Counts | null }>('petition.get-stats', {
    petitionId: address.params.petition,
  });
  const { outcomes, sentTitle } = words.petitions.thanks;
  if (!thankYouMails) return null;
  const rows = (Object.keys(outcomes) as (keyof Counts)[])
    .filter((outcome) => thankYouMails[outcome] > 0)
    .map((outcome) => ({ name: outcomes[outcome], value: numberIn(words, thankYouMails[outcome]) }));
  return SectionOf(sentTitle, Facts(rows));
}

/** Both parts are replaced as a whole. Without any text, signers see the texts of the site and receive no email. */
function typedIn(form: FormInput): Record<string, unknown> {
  const [subject, content] = [form.typed('thankYouMail.subject'), form.typed('thankYouMail.content')];
  return {
    thankYou: typedThankYou(form),
    thankYouMail:
      subject === null && content === null ? null : { subject: subject ?? '', content: content ?? '' },
  };
}
