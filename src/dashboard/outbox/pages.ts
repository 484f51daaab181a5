import { join } from 'node:path';
import { type ListedMail, type MailFiles, Mailer, MOST_SEARCHED, type ReadMail, writtenAt } from '#libs/mail';
import { html, type Html } from '#libs/pages';
import { isId, noSuch, RpcError } from '#libs/rpc';
import { mailPage } from '../document.js';
import { type Lister, listPages } from '../list-pages.js';
import { type PageDefinition } from '../page.js';
import { Facts, numberIn, SectionOf, timeIn } from '../parts.js';
import { OUTBOX } from '../sections.js';
import { type Api, type PageContext } from '../page-context.js';

const { needs, isThere } = OUTBOX;

const pages: PageDefinition[] = [
  ...listPages<ListedMail>({
    path: 'outbox',
    section: 'outbox',
    needs,
    operation: (context, asked) => listMails(context, asked),
    title: ({ outbox }) => outbox.title,
    text: ({ outbox }) => outbox.text,
    empty: ({ outbox }) => outbox.none,
    search: (words) => words.outbox.search(numberIn(words, MOST_SEARCHED)),
    before: ({ words, api }) => {
      const folder = join(filesOf(api).directory, api.organizationId);
      return Promise.resolve(html`<p>${words.outbox.where(folder)}</p>`);
    },
    columns: [
      {
        name: ({ outbox }) => outbox.subject,
        cell: ({ id, subject }, { words, address }) =>
          html`<a href="${address.path(`outbox/${id}`)}">${subject === '' ? words.outbox.noSubject : subject}</a>`,
        exported: ({ subject }) => subject,
      },
      { name: ({ outbox }) => outbox.to, cell: ({ to }) => to },
      {
        name: ({ outbox }) => outbox.written,
        cell: ({ id }) => writtenAt(id),
        exported: ({ id }) => writtenAt(id).toISOString(),
      },
    ],
  }),
  {
    path: 'outbox/:mail',
    needs,
    show: async (context) => {
      const { words } = context;
      const { params } = context.address;
      const { outbox } = words;
      const mail = await mailOf(context);
      const title = mail.subject === '' ? outbox.noSubject : mail.subject;
      return context.view.page({
        section: 'outbox',
        back: { href: context.address.path('outbox'), text: outbox.title },
        title,
        content: html`${Facts([
          { name: outbox.from, value: mail.from },
          { name: outbox.to, value: mail.to },
          { name: outbox.subject, value: mail.subject },
          { name: outbox.date, value: mail.sentAt === null ? null : timeIn(words, mail.sentAt) },
        ])}
          ${SectionOf(
            outbox.plain,
            html`<p>${outbox.links}</p>
              <pre class="code" tabindex="0">${withLinks(mail.text)}</pre>`,
          )}
          ${
            mail.html === null
              ? null
              : SectionOf(
                  outbox.html,
                  html`<iframe
                    sandbox
                    title="${outbox.frame}"
                    src="${context.address.path(`outbox/${params.mail!}/mail`)}"
                  ></iframe>`,
                )
          }`,
      });
    },
  },
  {
    path: 'outbox/:mail/mail',
    needs,
    show: async (context) => {
      const mail = await mailOf(context);
      if (mail.html === null) throw noSuch('mail');
      return mailPage(context.words, mail.html);
    },
  },
];

/** An organization's emails that this server wrote to files, for trying the product without a mail server. */
export const outboxPages: PageDefinition[] = pages.map((page) => ({ ...page, isThere }));

const listMails: Lister<ListedMail> = async ({ api }, { q, limit, cursor: before }) => {
  if (before !== undefined && !isId(before))
    throw new RpcError('BAD_REQUEST', 'The cursor is not the id of an email.');
  const { mails, hasMore } = await filesOf(api).list(api.organizationId, limit, {
    before,
    q: typeof q === 'string' ? q : '',
  });
  const cursor = hasMore ? mails.at(-1)!.id : null;
  return { records: mails, pagination: { cursor, hasMore } };
};

/** @throws RpcError NOT_FOUND if the organization has no email with this id. */
async function mailOf({ address, api }: PageContext): Promise<ReadMail> {
  const mail = await filesOf(api).find(api.organizationId, address.params.mail!);
  if (!mail) throw noSuch('mail');
  return mail;
}

function filesOf(api: Api): MailFiles {
  const files = api.find(Mailer).written;
  if (!files) throw noSuch('mail');
  return files;
}

/** Turns addresses into links that send no referrer. Punctuation at the end is not part of a link. */
function withLinks(text: string): (string | Html)[] {
  const parts = text.split(/(https?:\/\/[^\s<>"]*[^\s<>"'.,;:!?)\]}])/);
  return parts.map((part, n) =>
    n % 2 === 1 && URL.canParse(part)
      ? html`<a href="${part}" target="_blank" rel="noopener noreferrer">${part}</a>`
      : part,
  );
}
