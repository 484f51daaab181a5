import { html, type Html } from '#libs/pages';
import { sendTest, TestForm } from '../broadcasts/test-form.js';
import { MergeFields } from '../broadcasts/writing-pages.js';
import { customFieldsOf } from '../contacts/custom-values.js';
import { mailPage } from '../document.js';
import { type PageDefinition } from '../page.js';
import { type FormInput, type PageContext } from '../page-context.js';
import { AreaField, ButtonLink, Facts, FormOf, numberIn, SectionOf, TextField } from '../parts.js';
import { type PetitionRecord, petitions } from './petition.js';

type Preview = { subject: string; html: string; text: string };
type Counts = Record<'sent' | 'waiting' | 'skipped' | 'failed' | 'inDoubt', number>;

/** What signers see and receive after signing. */
export const thankYouPages: PageDefinition[] = [
  {
    ...petitions.page('thanks', {
      needs: 'petition:write',
      title: ({ petitions }) => petitions.thanks.title,
      content: async (context, petition) => {
        const { address, form, person, words } = context;
        const { thanks, save } = words.petitions;
        const { id, thankYou, thankYouMail } = petition;
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
        const link = (step: string, text: string) =>
          ButtonLink(address, `petitions/${id}/thanks/${step}`, text, true);
        return html`<div class="text">
          ${FormOf(form, { fields, button: save, of: petition })}
          ${
            thankYouMail
              ? html`<p>${link('preview', thanks.preview)}
                ${person.may('broadcast:send') ? link('test', words.broadcasts.test.title) : null}</p>`
              : null
          }
        </div>
        ${await OutcomesOf(context)}`;
      },
    }),
    act: async (context) => {
      const { form, api } = context;
      const petition = await petitions.find(context);
      form.requireSame(petition);
      await api.run('petition.update-petition', { petitionId: petition.id, ...typedIn(form) });
      return { to: `petitions/${petition.id}/thanks`, done: 'petitions.changed' };
    },
  },
  petitions.page('thanks/preview', {
    needs: 'petition:read',
    title: ({ petitions }) => petitions.thanks.preview,
    content: async (context, { id }) => {
      const { broadcasts } = context.words;
      const { subject, text } = await previewOf(context);
      return html`<p class="lead">${subject}</p>
        <iframe sandbox title="${broadcasts.frame}" src="${context.address.path(`petitions/${id}/thanks/mail`)}"></iframe>
        ${SectionOf(broadcasts.previewText, html`<pre class="code" tabindex="0">${text}</pre>`)}`;
    },
  }),
  {
    path: 'petitions/:petition/thanks/mail',
    needs: 'petition:read',
    show: async (context) => mailPage(context.words, (await previewOf(context)).html),
  },
  {
    ...petitions.page('thanks/test', {
      needs: 'broadcast:send',
      title: ({ broadcasts }) => broadcasts.test.title,
      content: TestForm,
    }),
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
