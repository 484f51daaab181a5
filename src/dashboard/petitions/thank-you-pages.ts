import { html, type Html } from '#libs/pages';
import { askToRetry } from '../broadcasts/sending-pages.js';
import { sendTest, TestForm } from '../broadcasts/test-form.js';
import { BlocksOf, MergeFields } from '../broadcasts/writing-pages.js';
import { customFieldsOf } from '../contacts/custom-values.js';
import { mailPage } from '../document.js';
import { type PageDefinition } from '../page.js';
import { type FormInput, type PageContext } from '../page-context.js';
import { Actions, AreaField, ButtonLink, Facts, FormOf, numberIn, SectionOf, TextField } from '../parts.js';
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
            ...{ name: 'thankYouMail.content', label: thanks.content, isOptional: true, markup: 'mail' },
            hint: words.posts.fields.contentHint,
            value: thankYouMail?.content,
          }),
          MergeFields(words, await customFieldsOf(context)),
          BlocksOf(words, { field: 'thankYouMail.content', isToSigners: true }),
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
  retry('retry-failed', 'FAILED'),
  retry('retry-in-doubt', 'IN_DOUBT'),
];

function retry(path: string, status: 'FAILED' | 'IN_DOUBT'): PageDefinition {
  return {
    path: `petitions/:petition/thanks/${path}`,
    needs: 'broadcast:send',
    show: async (context) => {
      const { id, title } = await petitions.find(context);
      const { title: text } = context.words.petitions.thanks;
      return askToRetry(context, status, {
        section: 'petitions',
        name: title,
        counts: await countsOf(context),
        back: { path: `petitions/${id}/thanks`, text },
      });
    },
    act: async ({ address, api }) => {
      const petitionId = address.params.petition!;
      await api.run('petition.retry-thank-you-mails', { petitionId, status });
      return { to: `petitions/${petitionId}/thanks`, done: 'broadcasts.retried' };
    },
  };
}

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
async function OutcomesOf(context: PageContext) {
  const { words, address, person } = context;
  const { outcomes, sentTitle } = words.petitions.thanks;
  const counts = await countsOf(context);
  if (!counts) return null;
  const rows = (Object.keys(outcomes) as (keyof Counts)[])
    .filter((outcome) => counts[outcome] > 0)
    .map((outcome) => ({ name: outcomes[outcome], value: numberIn(words, counts[outcome]) }));
  const path = `petitions/${address.params.petition!}/thanks`;
  const { retryFailed, retryInDoubt } = words.broadcasts.steps;
  const buttons = [
    counts.failed > 0 && ButtonLink(address, `${path}/retry-failed`, retryFailed, true),
    counts.inDoubt > 0 && ButtonLink(address, `${path}/retry-in-doubt`, retryInDoubt, true),
  ];
  return SectionOf(sentTitle, [Facts(rows), person.may('broadcast:send') ? Actions(buttons) : null]);
}

async function countsOf({ address, api }: PageContext): Promise<Counts | null> {
  const { thankYouMails } = await api.run<{ thankYouMails: Counts | null }>('petition.get-stats', {
    petitionId: address.params.petition,
  });
  return thankYouMails;
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
