import { type Html } from '#libs/pages';
import { type CustomValue, type FieldRecord, valueIn } from '../../fields/index.js';
import { type Column } from '../list-pages.js';
import { type FormInput, type PageContext } from '../page-context.js';
import { ChoiceField, dateIn, numberIn, SelectField, TextField } from '../parts.js';
import { type DashboardWords } from '#locales';

type Values = { readonly [key: string]: CustomValue };

/** The custom fields of the organization, the oldest first; none if the person may not read them. */
export async function customFieldsOf({ person, api }: PageContext): Promise<FieldRecord[]> {
  if (!person.may('field:read')) return [];
  const asked = { limit: 100, sort: 'createdAt' };
  return (await api.run<{ records: FieldRecord[] }>('field.list-fields', asked)).records;
}

/** The values of a contact, for `Facts`. */
export function factsOf(words: DashboardWords, fields: readonly FieldRecord[], values: Values) {
  return fields.flatMap((field) => {
    const value = shownIn(words, field, values);
    return value === null ? [] : [{ name: field.name, value }];
  });
}

function shownIn(words: DashboardWords, { key, type }: FieldRecord, values: Values): string | null {
  const value = values[key];
  if (value === undefined) return null;
  if (typeof value === 'boolean') return value ? words.yes : words.no;
  if (typeof value === 'number') return numberIn(words, value);
  if (Array.isArray(value)) return value.join(', ');
  return type === 'DATE' ? dateIn(words, value) : value;
}

/** The name of a custom field's column. */
export function customColumn(key: string): string {
  return `customFields.${key}`;
}

export function customColumns(fields: readonly FieldRecord[]): Column<{ customFields: Values }>[] {
  return fields.map((field) => ({
    name: () => field.name,
    key: customColumn(field.key),
    cell: ({ customFields }, { words }) => shownIn(words, field, customFields),
    isNumber: field.type === 'NUMBER',
  }));
}

export function CustomInputs(
  { words, form }: PageContext,
  fields: readonly FieldRecord[],
  values: Values = {},
): Html[] {
  return fields.map(({ key, name: label, type, options }) => {
    const name = `customFields.${key}`;
    const value = values[key];
    const text = value === undefined ? null : String(value);
    const none = { value: '', text: '–' };
    switch (type) {
      case 'TEXT':
        return TextField(form, { name, label, value: text, max: 1_000, isOptional: true });
      case 'NUMBER':
        return TextField(form, { name, label, value: text, type: 'number', isOptional: true });
      case 'DATE':
        return TextField(form, { name, label, value: text, type: 'date', isOptional: true });
      case 'BOOLEAN': {
        const choices = [
          { value: 'true', text: words.yes },
          { value: 'false', text: words.no },
        ];
        return SelectField(form, { name, label, value: text, choices: [none, ...choices] });
      }
      case 'CHOICE': {
        const choices = (options ?? []).map((option) => ({ value: option, text: option }));
        return SelectField(form, { name, label, value: text, choices: [none, ...choices] });
      }
      case 'CHOICES': {
        const choices = (options ?? []).map((option) => ({ value: option, text: option }));
        const chosen = Array.isArray(value) ? value : [];
        return ChoiceField(form, { name, label, values: chosen, choices, isMany: true });
      }
    }
  });
}

/** The submitted values. An empty one is null. */
export function typedValues(form: FormInput, fields: readonly FieldRecord[]): Record<string, unknown> {
  const typed = fields.map((field) => {
    const all = form.getAll(`customFields.${field.key}`);
    return [field.key, field.type === 'CHOICES' ? all : valueIn(field, all[0] ?? '', (text) => [text])];
  });
  return Object.fromEntries(typed) as Record<string, unknown>;
}
