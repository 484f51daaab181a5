import { html } from '#libs/pages';
import { numberColumn } from '../list-pages.js';
import { type PageDefinition } from '../page.js';
import { type PageContext } from '../page-context.js';
import { ButtonLink, ConfirmForm, dateIn, fieldsFor, TextForm } from '../parts.js';
import { type PetitionRecord, petitions } from './petition.js';

type CountRecord = {
  id: string;
  collectedOn: string;
  count: number;
  note: string | null;
  status: 'COUNTED' | 'WITHDRAWN';
};

export const paperPages: PageDefinition[] = [
  ...petitions.listBelow<CountRecord>('paper', {
    operation: 'petition.list-offline-signatures',
    title: ({ petitions }) => petitions.paper.title,
    text: ({ petitions }) => petitions.paper.text,
    empty: ({ petitions }) => petitions.paper.none,
    add: {
      path: ({ address: { params } }) => `petitions/${params.petition!}/paper/new`,
      text: ({ petitions }) => petitions.paper.add,
      needs: 'petition:write',
    },
    before: async (context) => {
      const { url, status } = await petitions.find(context);
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
      numberColumn(
        ({ petitions }) => petitions.paper.count,
        ({ count }) => count,
      ),
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
    ...petitions.page('paper/new', {
      needs: 'petition:write',
      back: toPaper,
      title: ({ petitions }) => petitions.paper.add,
      content: ({ form, words }) => {
        const { paper } = words.petitions;
        const { text, optionalText } = fieldsFor(form, paper);
        const fields = [
          text('count', { type: 'number' }),
          text('collectedOn', { hint: paper.collectedHint, type: 'date' }),
          optionalText('note', { max: 500 }),
        ];
        return TextForm(form, { fields, button: paper.add });
      },
    }),
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
      const { id } = await petitions.find(context);
      const content = ConfirmForm(context, { ...question, back: `petitions/${id}/paper` });
      return context.view.page({ section: 'petitions', title, content });
    },
    act: async ({ address: { params }, api }) => {
      const { petition: petitionId, offline: offlineCountId } = params;
      await api.run('petition.withdraw-offline-signatures', { offlineCountId, petitionId });
      return { to: `petitions/${petitionId!}/paper`, done: 'petitions.paperWithdrawn' };
    },
  },
];

function toPaper({ words, address }: PageContext, { id }: PetitionRecord) {
  return { href: address.path(`petitions/${id}/paper`), text: words.petitions.paper.title };
}
