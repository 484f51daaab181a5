import { html } from '#libs/pages';
import { type StreamedAnswer } from '#libs/rpc';
import { type PageDefinition } from '../page.js';
import { type PageContext } from '../page-context.js';
import { Actions, SectionOf } from '../parts.js';
import { petitions } from './petition.js';

/** The files with which a petition is handed over. */
export const deliveryPages: PageDefinition[] = [
  petitions.page('delivery', {
    needs: 'petition:read',
    title: ({ petitions }) => petitions.delivery.title,
    content: ({ address, words, person }, { id }) => {
      const { delivery } = words.petitions;
      const link = (file: string, text: string) =>
        html`<a class="button plain" href="${address.path(`petitions/${id}/delivery/${file}`)}" download>${text}</a>`;
      return html`<p>${delivery.text}</p>
        ${SectionOf(delivery.document, [
          html`<p>${delivery.documentText}</p>`,
          Actions([
            person.may('contact:read') && link('document?contacts=true', delivery.named),
            link('document', delivery.nameless),
          ]),
        ])}
        ${SectionOf(delivery.certificate, [
          html`<p>${delivery.certificateText}</p>`,
          Actions([link('certificate', delivery.certificateButton)]),
        ])}`;
    },
  }),
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
