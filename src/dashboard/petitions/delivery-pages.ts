import { html } from '#libs/pages';
import { type StreamedAnswer } from '#libs/rpc';
import { type PageDefinition } from '../page.js';
import { type PageContext } from '../page-context.js';
import { Actions, SectionOf } from '../parts.js';
import { petitionOf, toPetition } from './petition.js';

/** The files with which a petition is handed over. */
export const deliveryPages: PageDefinition[] = [
  {
    path: 'petitions/:petition/delivery',
    needs: 'petition:read',
    show: async (context) => {
      const { address, view, words, person } = context;
      const petition = await petitionOf(context);
      const { delivery } = words.petitions;
      const link = (file: string, text: string) =>
        html`<a class="button plain" href="${address.path(`petitions/${petition.id}/delivery/${file}`)}" download>${text}</a>`;
      return view.page({
        section: 'petitions',
        back: toPetition(address, petition),
        title: delivery.title,
        content: html`<p>${delivery.text}</p>
          ${SectionOf(delivery.document, [
            html`<p>${delivery.documentText}</p>`,
            Actions([
              person.may('contact:read') ? link('document?contacts=true', delivery.named) : null,
              link('document', delivery.nameless),
            ]),
          ])}
          ${SectionOf(delivery.certificate, [
            html`<p>${delivery.certificateText}</p>`,
            Actions([link('certificate', delivery.certificateButton)]),
          ])}`,
      });
    },
  },
  download('document', 'petition.get-delivery', ({ address }) => ({
    ...(address.query('contacts') === 'true' ? { contacts: 'true' } : {}),
  })),
  download('certificate', 'petition.get-count-certificate', () => ({})),
];

function download(
  file: string,
  operation: string,
  fields: (context: PageContext) => Record<string, string>,
): PageDefinition {
  return {
    path: `petitions/:petition/delivery/${file}`,
    needs: 'petition:read',
    show: (context) => {
      const { address, api } = context;
      return api.run<StreamedAnswer>(operation, { petitionId: address.params.petition, ...fields(context) });
    },
  };
}
