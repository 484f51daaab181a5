import { html } from '#libs/pages';
import { FIELD_TYPES, type FieldRecord, hasOptions } from '../../fields/index.js';
import { ActivityLog } from '../activity-log.js';
import { FilterField, listPages } from '../list-pages.js';
import { type FormInput, type PageContext } from '../page-context.js';
import { type PageDefinition } from '../page.js';
import { deletionPage } from '../step-pages.js';
import { Actions, AreaField, ButtonLink, ChoiceField, dateIn, Facts, FormOf, TextField } from '../parts.js';

const SECTION = 'customFields';

export const customFieldPages: PageDefinition[] = [
  ...listPages<FieldRecord>({
    path: 'fields',
    section: SECTION,
    needs: 'field:read',
    operation: 'field.list-fields',
    title: ({ customFields }) => customFields.title,
    text: ({ customFields }) => customFields.text,
    empty: ({ customFields }) => customFields.none,
    search: ({ nameOf }) => nameOf,
    fields: ({ address }) => ({ type: address.query('type') }),
    filters: (context) => {
      const { type, types } = context.words.customFields;
      const choices = FIELD_TYPES.map((value) => ({ value, text: types[value].name }));
      return Promise.resolve([FilterField(context, { name: 'type', label: type, choices })]);
    },
    add: { path: 'fields/new', text: ({ customFields }) => customFields.add, needs: 'field:write' },
    columns: [
      {
        name: ({ nameOf }) => nameOf,
        cell: ({ id, name }, { address }) => html`<a href="${address.path(`fields/${id}`)}">${name}</a>`,
        exported: ({ name }) => name,
      },
      {
        name: ({ customFields }) => customFields.type,
        cell: ({ type }, { words }) => words.customFields.types[type].name,
        exported: ({ type }) => type,
      },
      { name: ({ customFields }) => customFields.key, cell: ({ key }) => key },
      { name: ({ made }) => made, cell: ({ createdAt }) => new Date(createdAt) },
    ],
  }),
  {
    path: 'fields/new',
    needs: 'field:write',
    show: (context) => {
      const { add, type, types, create } = context.words.customFields;
      const choices = FIELD_TYPES.map((value) => ({
        value,
        text: types[value].name,
        hint: types[value].hint,
      }));
      const fields = [
        NameField(context),
        ChoiceField(context.form, { name: 'type', label: type, values: ['TEXT'], choices }),
        OptionsField(context),
      ];
      return Promise.resolve(
        context.view.page({
          section: SECTION,
          back: toAll(context),
          title: add,
          content: html`<div class="text">${FormOf(context.form, { fields, button: create })}</div>`,
        }),
      );
    },
    act: async ({ form, api }) => {
      const options = optionsIn(form);
      const { fieldId } = await api.run<{ fieldId: string }>('field.create-field', {
        name: form.typed('name') ?? '',
        type: form.get('type') ?? '',
        ...(options.length > 0 ? { options } : {}),
      });
      return { to: `fields/${fieldId}`, done: 'customFields.created' };
    },
  },
  {
    path: 'fields/:field',
    needs: 'field:read',
    show: async (context) => {
      const { words } = context;
      const { edit, deleting, key, keyHint, type, types, options } = words.customFields;
      const [field, past] = await Promise.all([
        fieldOf(context),
        ActivityLog(context, context.address.params.field!),
      ]);
      return context.view.page({
        section: SECTION,
        back: toAll(context),
        title: field.name,
        content: html`${
          context.person.may('field:write')
            ? Actions([
                ButtonLink(context.address, `fields/${field.id}/edit`, edit.link, true),
                ButtonLink(context.address, `fields/${field.id}/delete`, deleting.link, true),
              ])
            : null
        }
        ${Facts([
          { name: type, value: types[field.type].name },
          ...(field.options === null
            ? []
            : [
                { name: options, value: html`<ul>${field.options.map((one) => html`<li>${one}</li>`)}</ul>` },
              ]),
          { name: key, value: field.key },
          { name: words.made, value: dateIn(words, field.createdAt) },
        ])}
        <p class="hint">${keyHint}</p>
        ${past}`,
      });
    },
  },
  {
    path: 'fields/:field/edit',
    needs: 'field:write',
    show: async (context) => {
      const field = await fieldOf(context);
      const { title } = context.words.customFields.edit;
      const fields = [
        NameField(context, field),
        hasOptions(field.type) ? OptionsField(context, field) : null,
      ];
      return context.view.page({
        section: SECTION,
        back: { href: context.address.path(`fields/${field.id}`), text: field.name },
        title: title(field.name),
        content: html`<div class="text">
          ${FormOf(context.form, { fields, button: context.words.save, of: field })}
        </div>`,
      });
    },
    act: async (context) => {
      const field = await fieldOf(context);
      context.form.requireSame(field);
      await context.api.run('field.update-field', {
        fieldId: field.id,
        name: context.form.typed('name') ?? '',
        ...(hasOptions(field.type) ? { options: optionsIn(context.form) } : {}),
      });
      return { to: `fields/${field.id}`, done: 'customFields.changed' };
    },
  },
  deletionPage({ section: SECTION, path: 'fields', record: 'field', find: fieldOf }),
];

function toAll({ words, address }: PageContext) {
  return { href: address.path('fields'), text: words.customFields.title };
}

function fieldOf({ address, api }: PageContext): Promise<FieldRecord> {
  return api.run<FieldRecord>('field.get-field', { fieldId: address.params.field });
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
