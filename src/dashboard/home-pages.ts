import { html, type Html } from '#libs/pages';
import { type PageDefinition } from './page.js';
import { ButtonLink, Actions, numberIn, Progress, SectionOf } from './parts.js';
import { type PetitionRecord } from './petitions/petition.js';
import { type PageContext } from './page-context.js';

/** Number of petitions shown. */
const LIMIT = 5;

/** The overview: open petitions and first steps. */
export const homePages: PageDefinition[] = [
  {
    path: '',
    needs: null,
    show: async (context) => {
      const { words, person } = context;
      const { home } = words;
      return context.view.page({
        section: 'overview',
        title: words.sections.overview,
        heading: person.organization.name,
        content: html`<p class="lead">${home.text}</p>
          ${context.person.may('petition:read') ? await PetitionsOf(context) : null} ${FirstSteps(context)}`,
      });
    },
  },
];

async function PetitionsOf({ words, address, api }: PageContext): Promise<Html> {
  const { home, petitions } = words;
  const { records } = await api.run<{ records: PetitionRecord[] }>('petition.list-petitions', {
    limit: LIMIT,
    status: 'PUBLISHED',
  });
  if (records.length === 0) return SectionOf(home.open, html`<p>${home.noneOpen}</p>`);
  return SectionOf(
    home.open,
    records.map(
      ({ id, title, signatures, goal }) =>
        html`<h3><a href="${address.path(`petitions/${id}`)}">${title}</a></h3>
          ${Progress({ words, name: id, label: petitions.signatures, value: signatures, max: goal })}
          <p class="small">${signatures >= goal ? home.reached : home.missing(numberIn(words, goal - signatures))}</p>`,
    ),
  );
}

/** First steps that the person's role allows. */
function FirstSteps({ words, person, address }: PageContext): Html | null {
  const { home } = words;
  const step = (needs: string, to: string, text: string) =>
    person.may(needs) ? ButtonLink(address, to, text, true) : null;
  const actions = Actions([
    step('petition:write', 'petitions/new', words.petitions.add),
    step('contact:write', 'contacts/import', words.contacts.import),
    step('broadcast:write', 'broadcasts/new', words.broadcasts.add),
    step('team:write', 'team/invite', words.team.invite),
    step('history:read', 'history/verify', words.history.verify),
  ]);
  return actions && SectionOf(home.steps, actions);
}
