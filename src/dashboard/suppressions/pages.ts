import { html } from '#libs/pages';
import { isEmailAddress } from '#libs/rpc';
import { listPages } from '../list-pages.js';
import { type PageDefinition } from '../page.js';
import { ConfirmForm, dateIn, FormOf, TextField } from '../parts.js';
import { type Visit } from '../visit.js';

export type SuppressionRecord = {
  id: string;
  createdAt: string;
  reason: 'UNSUBSCRIBED' | 'BOUNCED' | 'COMPLAINED' | 'MANUAL';
  email: string | null;
};

export const suppressionPages: PageDefinition[] = [
  ...listPages<SuppressionRecord>({
    path: 'suppressions',
    section: 'suppressions',
    needs: 'suppression:read',
    operation: 'suppression.list-suppressions',
    title: ({ suppressions }) => suppressions.title,
    text: ({ suppressions }) => suppressions.text,
    empty: ({ suppressions }) => suppressions.none,
    fields: (visit) => ({ email: searchedIn(visit) }),
    // Addresses are found by a keyed hash of the whole address, so a part of one matches nothing.
    cannotFind: (visit) => {
      const email = searchedIn(visit);
      return email === undefined || isEmailAddress(email) ? undefined : visit.words.suppressions.wholeAddress;
    },
    filters: (visit) => {
      const { email } = visit.words.suppressions;
      return Promise.resolve([
        html`<div class="field">
          <label for="email">${email}</label>
          <input id="email" name="email" type="search" autocomplete="off" value="${visit.query('email') ?? ''}" />
        </div>`,
      ]);
    },
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
      { name: ({ since }) => since, cell: ({ createdAt }, { words }) => dateIn(words, createdAt) },
      {
        name: ({ suppressions }) => suppressions.lift,
        cell: ({ email }, visit) => {
          if (email === null || !visit.may('suppression:write')) return null;
          const { lift, liftOf } = visit.words.suppressions;
          const href = visit.path(`suppressions/lift?email=${encodeURIComponent(email)}`);
          return html`<a href="${href}" aria-label="${liftOf(email)}">${lift}</a>`;
        },
        exported: () => null,
      },
    ],
  }),
  {
    path: 'suppressions/new',
    needs: 'suppression:write',
    show: (visit) => {
      const { suppressions } = visit.words;
      const fields = [
        TextField(visit, { name: 'email', label: suppressions.email, type: 'email', max: 254 }),
      ];
      return Promise.resolve(
        visit.page({
          section: 'suppressions',
          back: toAll(visit),
          title: suppressions.add,
          content: html`<div class="text">${FormOf(visit, { fields, button: suppressions.button })}</div>`,
        }),
      );
    },
    act: async (visit) => {
      await visit.run('suppression.create-suppression', { email: visit.typed('email') ?? '' });
      return { to: 'suppressions', done: 'suppressions.added' };
    },
  },
  {
    path: 'suppressions/lift',
    needs: 'suppression:write',
    show: (visit) => {
      const { lifting } = visit.words.suppressions;
      const email = visit.query('email') ?? visit.typed('email') ?? '';
      return Promise.resolve(
        visit.page({
          section: 'suppressions',
          title: lifting.title(email),
          content: ConfirmForm(visit, {
            text: lifting.text,
            fields: [html`<input type="hidden" name="email" value="${email}" />`],
            button: lifting.button,
            back: 'suppressions',
          }),
        }),
      );
    },
    act: async (visit) => {
      await visit.run('suppression.delete-suppression', { email: visit.typed('email') ?? '' });
      return { to: 'suppressions', done: 'suppressions.lifted' };
    },
  },
];

function searchedIn(visit: Visit): string | undefined {
  const email = visit.query('email')?.trim();
  return email === '' ? undefined : email;
}

function toAll(visit: Visit) {
  return { href: visit.path('suppressions'), text: visit.words.suppressions.title };
}
