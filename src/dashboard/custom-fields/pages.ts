import { html } from '#libs/pages';
import { FIELD_TYPES, type FieldRecord, hasOptions } from '../../fields/index.js';
import { ActivityLog } from '../activity-log.js';
import { FilterField, listPages } from '../list-pages.js';
import { type PageContext } from '../page-context.js';
import { type PageDefinition } from '../page.js';
import {
  Actions,
  AreaField,
  ButtonLink,
  ChoiceField,
  ConfirmForm,
  dateIn,
  Facts,
  FormOf,
  TextField,
} from '../parts.js';

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
    fields: (context) => ({ type: context.query('type') }),
    filters: (context) => {
      const { type, types } = context.words.customFields;
      const choices = FIELD_TYPES.map((value) => ({ value, text: types[value].name }));
      return Promise.resolve([FilterField(context, { name: 'type', label: type, choices })]);
    },
    add: { path: 'fields/new', text: ({ customFields }) => customFields.add, needs: 'field:write' },
    columns: [
      {
        name: ({ nameOf }) => nameOf,
        cell: ({ id, name }, context) => html`<a href="${context.path(`fields/${id}`)}">${name}</a>`,
        exported: ({ name }) => name,
      },
      {
        name: ({ customFields }) => customFields.type,
        cell: ({ type }, { words }) => words.customFields.types[type].name,
        exported: ({ type }) => type,
      },
      { name: ({ customFields }) => customFields.key, cell: ({ key }) => key },
      { name: ({ made }) => made, cell: ({ createdAt }, { words }) => dateIn(words, createdAt) },
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
        ChoiceField(context, { name: 'type', label: type, values: ['TEXT'], choices }),
        OptionsField(context),
      ];
      return Promise.resolve(
        context.page({
          section: SECTION,
          back: toAll(context),
          title: add,
          content: html`<div class="text">${FormOf(context, { fields, button: create })}</div>`,
        }),
      );
    },
    act: async (context) => {
      const options = optionsIn(context);
      const { fieldId } = await context.run<{ fieldId: string }>('field.create-field', {
        name: context.typed('name') ?? '',
        type: context.form.get('type') ?? '',
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
        ActivityLog(context, context.params.field!),
      ]);
      return context.page({
        section: SECTION,
        back: toAll(context),
        title: field.name,
        content: html`${
          context.may('field:write')
            ? Actions([
                ButtonLink(context, `fields/${field.id}/edit`, edit.link, true),
                ButtonLink(context, `fields/${field.id}/delete`, deleting.link, true),
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
      return context.page({
        section: SECTION,
        back: { href: context.path(`fields/${field.id}`), text: field.name },
        title: title(field.name),
        content: html`<div class="text">
          ${FormOf(context, { fields, button: context.words.save, of: field })}
        </div>`,
      });
    },
    act: async (context) => {
      const field = await fieldOf(context);
      context.requireSame(field);
      await context.run('field.update-field', {
        fieldId: field.id,
        name: context.typed('name') ?? '',
        ...(hasOptions(field.type) ? { options: optionsIn(context) } : {}),
      });
      return { to: `fields/${field.id}`, done: 'customFields.changed' };
    },
  },
  {
    path: 'fields/:field/delete',
    needs: 'field:write',
    show: async (context) => {
      const { id, name } = await fieldOf(context);
      const { title, text, button } = context.words.customFields.deleting;
      return context.page({
        section: SECTION,
        title: title(name),
        content: ConfirmForm(context, { text, button: button(name), back: `fields/${id}`, isFinal: true }),
      });
    },
    act: async (context) => {
      await context.run('field.delete-field', { fieldId: context.params.field });
      return { to: 'fields', done: 'customFields.deleted' };
    },
  },
];

function toAll(context: PageContext) {
  return { href: context.path('fields'), text: context.words.customFields.title };
}

function fieldOf(context: PageContext): Promise<FieldRecord> {
  return context.run<FieldRecord>('field.get-field', { fieldId: context.params.field });
}

function NameField(context: PageContext, field?: FieldRecord) {
  return TextField(context, { name: 'name', label: context.words.nameOf, value: field?.name, max: 200 });
}

/** One option per line. New fields of other types have none. */
function OptionsField(context: PageContext, field?: FieldRecord) {
  const { options, optionsHint, newOptionsHint } = context.words.customFields;
  return AreaField(context, {
    name: 'options',
    label: options,
    hint: field ? optionsHint : newOptionsHint,
    value: field?.options?.join('\n'),
    isOptional: !field,
  });
}

function optionsIn({ form }: PageContext): string[] {
  const lines = (form.get('options') ?? '').split('\n').map((line) => line.trim());
  return lines.filter((line) => line !== '');
}
