import { OUTCOMES } from '../../petitions/index.js';
import { AreaField, ChoiceField, TextForm } from '../parts.js';
import { petitions } from './petition.js';

export const outcomePage = petitions.form('outcome', {
  title: ({ petitions }) => petitions.outcome.title,
  content: ({ form, words }, petition) => {
    const { outcome, save } = words.petitions;
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
    return TextForm(form, { fields, button: save, of: petition });
  },
  input: ({ form }, petition) => {
    const [outcome, outcomeText] = [form.typed('outcome'), form.typed('outcomeText')];
    // The text of an outcome that is deleted goes with it.
    const isGone = outcome === null && outcomeText === petition.outcomeText;
    return { outcome, ...(isGone ? {} : { outcomeText }) };
  },
});
