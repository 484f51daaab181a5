import { html, type Html } from '#libs/pages';
import { nextGoal } from '../../petitions/index.js';
import { type PageContext } from '../page-context.js';
import { ButtonLink, CheckField, fieldsFor, numberIn, TextForm } from '../parts.js';
import { type PetitionRecord, petitions, signaturesOf } from './petition.js';

/** The goal of a petition, with the next one if it is nearly reached. */
export const goalPage = petitions.form('goal', {
  title: ({ petitions }) => petitions.goals.title,
  content: ({ form, words }, petition) => {
    const { goals, fields: texts, save } = words.petitions;
    const goal = nextGoal(petition, signaturesOf(petition)) ?? petition.goal;
    const fields = [
      fieldsFor(form, texts).text('goal', { value: String(goal), type: 'number' }),
      CheckField(form, { name: 'autoGoal', label: goals.auto, isTicked: petition.autoGoal }),
    ];
    return TextForm(form, { fields, button: save, of: petition });
  },
  input: ({ form }) => ({ goal: Number(form.typed('goal') ?? Number.NaN), autoGoal: form.has('autoGoal') }),
});

/** Proposes the next goal of an open petition; null if it is far, or raised automatically. */
export function GoalProposal({ words, address, person }: PageContext, petition: PetitionRecord): Html | null {
  const goal = nextGoal(petition, signaturesOf(petition));
  const isProposed = petition.status === 'PUBLISHED' && !petition.autoGoal && person.may('petition:write');
  if (goal === null || !isProposed) return null;
  const { nearly, reached, raise } = words.petitions.goals;
  const isReached = signaturesOf(petition) >= petition.goal;
  return html`<p>${isReached ? reached : nearly} ${ButtonLink(address, `petitions/${petition.id}/goal`, raise(numberIn(words, goal)), true)}</p>`;
}
