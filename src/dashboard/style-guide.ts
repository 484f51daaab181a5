import { html, type Html } from '#libs/pages';
import { BarsOf, Figure, LineOf, Shares } from './charts.js';
import { FormInput } from './form-input.js';
import { Icon, ICONS } from './icons.js';
import { type PageContext } from './page-context.js';
import { type PageDefinition } from './page.js';
import {
  Actions,
  AreaField,
  BadgeOf,
  ButtonLink,
  CheckField,
  Chips,
  ChoiceField,
  ConfirmForm,
  Empty,
  Facts,
  FormOf,
  MomentOf,
  numberIn,
  Progress,
  SecretField,
  SectionOf,
  SelectField,
  Table,
  TextField,
} from './parts.js';

/** Every component in its states, as pages render it. For designers, and to see what a change of the styles affects. */
export const styleGuidePage: PageDefinition = {
  path: 'styleguide',
  needs: '*',
  show: (context) => {
    const { title, text } = context.words.styleGuide;
    const sections = Object.entries(componentsIn(context)).map(([name, shown]) => SectionOf(name, shown));
    return context.view.page({ title, content: html`<p class="lead">${text}</p>${sections}` });
  },
};

/** The components by their names in `parts.ts`. All texts are those of other pages. */
function componentsIn(context: PageContext): Record<string, Html | null | readonly (Html | null)[]> {
  const { words, address } = context;
  const { contacts, petitions, broadcasts } = words;
  const link = (to: string, text: string, isPlain = true) => ButtonLink(address, to, text, isPlain);
  const chip = (text: string) => ({ text, label: words.removeFilter(text), href: '#' });
  const bars = [12, 30, 0, 7].map((value, n) => ({ name: `2027-06-0${n + 1}`, value }));
  const columns = [petitions.stats.day, petitions.stats.signatures] as const;
  const choices = [words.yes, words.no].map((text) => ({ value: text, text, hint: contacts.text }));
  return {
    Icon: html`<ul class="chips">${ICONS.map((name) => html`<li>${Icon(name)}${name}</li>`)}</ul>`,
    Actions: Actions(
      [
        link('petitions/new', petitions.add, false),
        link('contacts/import', contacts.import),
        link('contacts', contacts.title),
        link('styleguide/edit', petitions.edit),
        link('styleguide/delete', petitions.delete),
      ],
      words,
    ),
    BadgeOf: html`<p>${Object.entries({ ...petitions.statuses, ...broadcasts.statuses }).map(([status, text]) => html`${BadgeOf(status, text)} `)}</p>`,
    Chips: Chips([chip(contacts.title), chip(petitions.title)], { text: words.showAll, href: '#' }),
    Facts: Facts([
      { name: words.email, value: 'ada@example.org' },
      { name: words.nameOf, value: null },
    ]),
    Table: Table({
      caption: 'Table',
      columns: [
        { name: words.nameOf, sorting: { href: '?sort=name', direction: undefined } },
        { name: words.email, isObvious: true },
        { name: words.state, isObvious: true },
        { name: petitions.signatures, isNumber: true },
        { name: words.made, sorting: { href: '?sort=createdAt', direction: 'descending' }, isObvious: true },
      ],
      rows: ['Ada Lovelace', 'Annegret Kramp-Hohenzollern-Sigmaringen'].map((name, n) => [
        html`<a href="#">${name}</a>`,
        `${name.toLowerCase().replaceAll(' ', '.')}@example.org`,
        BadgeOf('PUBLISHED', petitions.statuses.PUBLISHED),
        numberIn(words, 12_345 * n),
        MomentOf(words, new Date(Date.now() - n * 10 ** 9)),
      ]),
    }),
    Empty: Empty({ ...petitions.none, action: link('petitions/new', petitions.add) }),
    FormOf: html`<div class="text">${RejectedForm(context, choices)}</div>`,
    ConfirmForm: ConfirmForm(context, {
      text: petitions.deleting.text,
      button: petitions.deleting.button('Ada Lovelace'),
      back: 'styleguide',
      isFinal: true,
    }),
    SecretField: SecretField(words, {
      name: 'secret',
      label: words.keys.title,
      value: 'adv_0123456789abcdef',
    }),
    Progress: Progress({ words, label: petitions.signatures, value: 400, max: 500 }),
    Figure: Figure(
      words,
      html`<div class="charts">
        <div>${BarsOf({ words, title: petitions.signatures, bars })}</div>
        <div>${LineOf({ words, title: petitions.signatures, bars, goal: 40 })}</div>
      </div>`,
      {
        caption: petitions.signatures,
        columns: [{ name: columns[0] }, { name: columns[1], isNumber: true }],
        rows: bars.map(({ name, value }) => [name, numberIn(words, value)]),
      },
    ),
    Shares: Shares({ words, caption: petitions.stats.sources, bars, columns }),
  };
}

/** A form with an error in its first field. */
function RejectedForm(
  { words }: PageContext,
  choices: { value: string; text: string; hint: string }[],
): Html {
  const { contacts, petitions } = words;
  const form = new FormInput(words, new URLSearchParams({ email: 'ada@' }), () =>
    Promise.reject(new Error()),
  );
  const fault = { field: 'email', text: words.suppressions.wholeAddress };
  form.refusal = { status: 422, faults: [fault], text: undefined };
  return FormOf(form, {
    fields: [
      TextField(form, { name: 'email', label: words.email, type: 'email' }),
      TextField(form, { name: 'title', label: petitions.fields.title, hint: petitions.fields.titleHint }),
      AreaField(form, { name: 'bio', label: contacts.fields.bio, isOptional: true }),
      SelectField(form, { name: 'select', label: contacts.fields.country, choices }),
      ChoiceField(form, { name: 'one', label: words.role, choices }),
      ChoiceField(form, { name: 'many', label: words.kinds.tag!, choices, isMany: true }),
      CheckField(form, { name: 'subscribed', label: contacts.subscribed }),
    ],
    button: words.save,
  });
}
