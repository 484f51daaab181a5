import { html } from '#libs/pages';
import { FIELD_TYPES, type FieldRecord, hasOptions } from '../../fields/index.js';
import { createdColumn, filteredBy } from '../list-pages.js';
import { type FormInput, type PageContext } from '../page-context.js';
import { type PageDefinition } from '../page.js';
import { Actions, AreaField, ChoiceField, dateIn, Facts, TextField, TextForm } from '../parts.js';
import { recordPages } from '../record-pages.js';

const customFields = recordPages<FieldRecord>({ section: 'customFields', path: 'fields', record: 'field' });

export const customFieldPages: PageDefinition[] = [
  ...customFields.list({
    search: ({ nameOf }) => nameOf,
    ...filteredBy(
      'type',
      ({ customFields }) => customFields.type,
      ({ customFields: { types } }) => FIELD_TYPES.map((value) => ({ value, text: types[value].name })),
    ),
    columns: [
      customFields.titleColumn(),
      {
        name: ({ customFields }) => customFields.type,
        cell: ({ type }, { words }) => words.customFields.types[type].name,
        exported: ({ type }) => type,
      },
      { name: ({ customFields }) => customFields.key, cell: ({ key }) => key },
      createdColumn(),
    ],
  }),
  ...customFields.writing({
    editTitle: ({ customFields }, name) => customFields.edit.title(name),
    content: (context, field) => {
      const { create } = context.words.customFields;
      const fields = [
        NameField(context, field),
        field ? null : TypeField(context),
        field === undefined || hasOptions(field.type) ? OptionsField(context, field) : null,
      ];
      return TextForm(context.form, { fields, button: field ? context.words.save : create, of: field });
    },
    input: ({ form }, field) => {
      const options = optionsIn(form);
      const hasThem = field ? hasOptions(field.type) : options.length > 0;
      return {
        name: form.typed('name') ?? '',
        ...(field ? {} : { type: form.get('type') ?? '' }),
        ...(hasThem ? { options } : {}),
      };
    },
  }),
  customFields.shown(({ words }, field, { mayWrite, link }) => {
    const { edit, deleting, key, keyHint, type, types, options } = words.customFields;
    return html`${Actions([mayWrite && link('edit', edit.link), mayWrite && link('delete', deleting.link)])}
    ${Facts([
      { name: type, value: types[field.type].name },
      ...(field.options === null
        ? []
        : [{ name: options, value: html`<ul>${field.options.map((one) => html`<li>${one}</li>`)}</ul>` }]),
      { name: key, value: field.key },
      { name: words.made, value: dateIn(words, field.createdAt) },
    ])}
    <p class="hint">${keyHint}</p>`;
  }),
  customFields.deletion(),
];

function TypeField({ words, form }: PageContext) {
  const { type, types } = words.customFields;
  const choices = FIELD_TYPES.map((value) => ({ value, text: types[value].name, hint: types[value].hint }));
  return ChoiceField(form, { name: 'type', label: type, values: ['TEXT'], choices });
}

function NameField({ words, form }: PageContext, field?: FieldRecord) {
  return TextField(form, { name: 'name', label: words.nameOf, value: field?.name, max: 200 });
}

/** One option per line. New fields of other types have none. */
function OptionsField({ words, form }: PageContext, field?: FieldRecord) {
  const { options, optionsHint, newOptionsHint } = words.customFields;
  return AreaField(form, {
    name: 'options',
    label: options,
    hint: field ? optionsHint : newOptionsHint,
    value: field?.options?.join('\n'),
    isOptional: !field,
  });
}

function optionsIn(form: FormInput): string[] {
  const lines = (form.get('options') ?? '').split('\n').map((line) => line.trim());
  return lines.filter((line) => line !== '');
}
