import { html } from '#libs/pages';
import { OUTCOMES } from '../../petitions/index.js';
import { type PageDefinition } from '../page.js';
import { AreaField, ChoiceField, FormOf } from '../parts.js';
import { petitionOf, toPetition } from './petition.js';

/** The outcome of a closed petition. */
export const outcomePage: PageDefinition = {
  path: 'petitions/:petition/outcome',
  needs: 'petition:write',
  show: async (context) => {
    const { form, words, address, view } = context;
    const { outcome, save } = words.petitions;
    const petition = await petitionOf(context);
    const fields = [
      ChoiceField(form, {
        name: 'outcome',
        label: outcome.title,
        values: [petition.outcome ?? ''],
        choices: [
          { value: '', text: outcome.none },
          ...OUTCOMES.map((value) => ({ value, text: outcome.choices[value] })),
        ],
      }),
      AreaField(form, {
        name: 'outcomeText',
        label: outcome.text,
        hint: words.posts.fields.contentHint,
        value: petition.outcomeText,
        isOptional: true,
      }),
    ];
    return view.page({
      section: 'petitions',
      back: toPetition(address, petition),
      title: outcome.title,
      content: html`<div class="text">${FormOf(form, { fields, button: save, of: petition })}</div>`,
    });
  },
  act: async (context) => {
    const { form, address, api } = context;
    const petitionId = address.params.petition!;
    const petition = await petitionOf(context);
    form.requireSame(petition);
    const [outcome, outcomeText] = [form.typed('outcome'), form.typed('outcomeText')];
    await api.run('petition.update-petition', {
      petitionId,
      outcome,
      // The text of an outcome that is deleted goes with it.
      ...(outcome === null && outcomeText === petition.outcomeText ? {} : { outcomeText }),
    });
    return { to: `petitions/${petitionId}`, done: 'petitions.changed' };
  },
};
