import { html, type Html } from '#libs/pages';
import { nextGoal } from '../../petitions/index.js';
import { type PageDefinition } from '../page.js';
import { type PageContext } from '../page-context.js';
import { ButtonLink, CheckField, FormOf, numberIn, TextField } from '../parts.js';
import { type PetitionRecord, petitionOf, signaturesOf, toPetition } from './petition.js';

/** The goal of a petition, with the next one if it is nearly reached. */
export const goalPage: PageDefinition = {
  path: 'petitions/:petition/goal',
  needs: 'petition:write',
  show: async (context) => {
    const { form, words, address, view } = context;
    const { goals, save } = words.petitions;
    const petition = await petitionOf(context);
    const goal = nextGoal(petition, signaturesOf(petition)) ?? petition.goal;
    const fields = [
      TextField(form, {
        name: 'goal',
        label: words.petitions.fields.goal,
        value: String(goal),
        type: 'number',
      }),
      CheckField(form, { name: 'autoGoal', label: goals.auto, isTicked: petition.autoGoal }),
    ];
    return view.page({
      section: 'petitions',
      back: toPetition(address, petition),
      title: goals.title,
      content: html`<div class="text">${FormOf(form, { fields, button: save, of: petition })}</div>`,
    });
  },
  act: async (context) => {
    const { form, address, api } = context;
    const petitionId = address.params.petition!;
    form.requireSame(await petitionOf(context));
    const fields = { goal: Number(form.typed('goal') ?? Number.NaN), autoGoal: form.has('autoGoal') };
    await api.run('petition.update-petition', { petitionId, ...fields });
    return { to: `petitions/${petitionId}`, done: 'petitions.changed' };
  },
};

/** Proposes the next goal of an open petition; null if it is far, or raised automatically. */
export function GoalProposal({ words, address, person }: PageContext, petition: PetitionRecord): Html | null {
  const goal = nextGoal(petition, signaturesOf(petition));
  const isProposed = petition.status === 'PUBLISHED' && !petition.autoGoal && person.may('petition:write');
  if (goal === null || !isProposed) return null;
  const { nearly, raise } = words.petitions.goals;
  return html`<p>${nearly} ${ButtonLink(address, `petitions/${petition.id}/goal`, raise(numberIn(words, goal)), true)}</p>`;
}
