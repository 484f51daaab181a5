import { html } from '#libs/pages';
import { listPages } from '../list-pages.js';
import { type PageDefinition } from '../page.js';
import { ButtonLink, ConfirmForm, dateIn, FormOf, numberIn, TextField } from '../parts.js';
import { petitionOf, toPetition } from './petition.js';

type CountRecord = {
  id: string;
  collectedOn: string;
  count: number;
  note: string | null;
  status: 'COUNTED' | 'WITHDRAWN';
};

/** Signatures of a petition that were collected on paper. */
export const paperPages: PageDefinition[] = [
  ...listPages<CountRecord>({
    path: 'petitions/:petition/paper',
    section: 'petitions',
    needs: 'petition:read',
    operation: 'petition.list-offline-signatures',
    title: ({ petitions }) => petitions.paper.title,
    text: ({ petitions }) => petitions.paper.text,
    empty: ({ petitions }) => petitions.paper.none,
    fields: ({ address: { params } }) => ({ petitionId: params.petition }),
    back: async (context) => toPetition(context.address, await petitionOf(context)),
    add: {
      path: ({ address: { params } }) => `petitions/${params.petition!}/paper/new`,
      text: ({ petitions }) => petitions.paper.add,
      needs: 'petition:write',
    },
    before: async (context) => {
      const { url, status } = await petitionOf(context);
      if (url === null || status === 'DRAFT') return null;
      const { sheet } = context.words.petitions.paper;
      return html`<p><a href="${new URL(url).pathname}/paper">${sheet}</a></p>`;
    },
    columns: [
      {
        name: ({ petitions }) => petitions.paper.collectedOn,
        cell: ({ collectedOn }, { words }) => dateIn(words, collectedOn),
        exported: ({ collectedOn }) => collectedOn,
        isObvious: true,
      },
      {
        name: ({ petitions }) => petitions.paper.count,
        cell: ({ count }, { words }) => numberIn(words, count),
        exported: ({ count }) => count,
        isNumber: true,
      },
      { name: ({ petitions }) => petitions.paper.note, cell: ({ note }) => note },
      {
        name: ({ state }) => state,
        cell: ({ status }, { words }) => words.petitions.paper.statuses[status],
        exported: ({ status }) => status,
        isObvious: true,
      },
      {
        name: ({ petitions }) => petitions.paper.withdraw,
        cell: ({ id, status }, { address, words }) =>
          status === 'WITHDRAWN'
            ? null
            : ButtonLink(
                address,
                `petitions/${address.params.petition!}/paper/${id}/withdraw`,
                words.petitions.paper.withdraw,
                true,
              ),
        hasActions: true,
        isShown: ({ person }) => person.may('petition:write'),
      },
    ],
  }),
  {
    path: 'petitions/:petition/paper/new',
    needs: 'petition:write',
    show: async (context) => {
      const { form, words, address, view } = context;
      const { paper } = words.petitions;
      const { id } = await petitionOf(context);
      const fields = [
        TextField(form, { name: 'count', label: paper.count, type: 'number' }),
        TextField(form, {
          name: 'collectedOn',
          label: paper.collectedOn,
          hint: paper.collectedHint,
          type: 'date',
        }),
        TextField(form, {
          name: 'note',
          label: paper.note,
          hint: paper.noteHint,
          max: 500,
          isOptional: true,
        }),
      ];
      return view.page({
        section: 'petitions',
        back: { href: address.path(`petitions/${id}/paper`), text: paper.title },
        title: paper.add,
        content: html`<div class="text">${FormOf(form, { fields, button: paper.add })}</div>`,
      });
    },
    act: async ({ address, api, form }) => {
      const petitionId = address.params.petition!;
      await api.run('petition.record-offline-signatures', {
        petitionId,
        count: Number(form.typed('count') ?? Number.NaN),
        collectedOn: form.typed('collectedOn'),
        note: form.typed('note'),
      });
      return { to: `petitions/${petitionId}/paper`, done: 'petitions.paperCounted' };
    },
  },
  {
    path: 'petitions/:petition/paper/:offline/withdraw',
    needs: 'petition:write',
    show: async (context) => {
      const { title, ...question } = context.words.petitions.paper.withdrawing;
      const { id } = await petitionOf(context);
      const content = ConfirmForm(context, { ...question, back: `petitions/${id}/paper` });
      return context.view.page({ section: 'petitions', title, content });
    },
    act: async ({ address: { params }, api }) => {
      await api.run('petition.withdraw-offline-signatures', { offlineCountId: params.offline });
      return { to: `petitions/${params.petition!}/paper`, done: 'petitions.paperWithdrawn' };
    },
  },
];
