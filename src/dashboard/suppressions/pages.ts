import { html } from '#libs/pages';
import { isEmailAddress } from '#libs/rpc';
import { type SuppressionRecord } from '../../suppressions/index.js';
import { createdColumn, listPages } from '../list-pages.js';
import { type PageDefinition } from '../page.js';
import { ConfirmForm, TextField, TextForm } from '../parts.js';
import { type Address, type PageContext } from '../page-context.js';

export const suppressionPages: PageDefinition[] = [
  ...listPages<SuppressionRecord>({
    path: 'suppressions',
    section: 'suppressions',
    needs: 'suppression:read',
    operation: 'suppression.list-suppressions',
    fields: ({ address }) => ({ email: searchedIn(address) }),
    // The search uses a keyed hash of the whole address, so part of an address never matches.
    cannotFind: ({ words, address }) => {
      const email = searchedIn(address);
      return email === undefined || isEmailAddress(email) ? undefined : words.suppressions.wholeAddress;
    },
    filters: ({ words }) => [{ name: 'email', label: words.suppressions.email, type: 'search' }],
    add: {
      path: 'suppressions/new',
      text: ({ suppressions }) => suppressions.add,
      needs: 'suppression:write',
    },
    columns: [
      { name: ({ email }) => email, cell: ({ email }, { words }) => email ?? words.suppressions.gone },
      {
        name: ({ suppressions }) => suppressions.why,
        cell: ({ reason }, { words }) => words.suppressions.reasons[reason],
      },
      createdColumn(({ since }) => since),
      {
        name: ({ suppressions }) => suppressions.lift,
        cell: ({ email }, { words, person, address }) => {
          if (email === null || !person.may('suppression:write')) return null;
          const { lift, liftOf } = words.suppressions;
          const href = address.path(`suppressions/lift?email=${encodeURIComponent(email)}`);
          return html`<a href="${href}" aria-label="${liftOf(email)}">${lift}</a>`;
        },
        exported: () => null,
      },
    ],
  }),
  {
    path: 'suppressions/new',
    needs: 'suppression:write',
    show: (context) => {
      const { suppressions } = context.words;
      const fields = [
        TextField(context.form, { name: 'email', label: suppressions.email, type: 'email', max: 254 }),
      ];
      return context.view.page({
        section: 'suppressions',
        back: toAll(context),
        title: suppressions.add,
        content: TextForm(context.form, { fields, button: suppressions.button }),
      });
    },
    act: async ({ form, api }) => {
      await api.run('suppression.create-suppression', { email: form.typed('email') ?? '' });
      return { to: 'suppressions', done: 'suppressions.added' };
    },
  },
  {
    path: 'suppressions/lift',
    needs: 'suppression:write',
    show: (context) => {
      const { lifting } = context.words.suppressions;
      const email = context.address.query('email') ?? context.form.typed('email') ?? '';
      return context.view.page({
        section: 'suppressions',
        title: lifting.title(email),
        content: ConfirmForm(context, {
          text: lifting.text,
          fields: [html`<input type="hidden" name="email" value="${email}" />`],
          button: lifting.button,
          back: 'suppressions',
        }),
      });
    },
    act: async ({ form, api }) => {
      await api.run('suppression.delete-suppression', { email: form.typed('email') ?? '' });
      return { to: 'suppressions', done: 'suppressions.lifted' };
    },
  },
];

function searchedIn(address: Address): string | undefined {
  const email = address.query('email')?.trim();
  return email === '' ? undefined : email;
}

function toAll({ words, address }: PageContext) {
  return { href: address.path('suppressions'), text: words.suppressions.title };
}
