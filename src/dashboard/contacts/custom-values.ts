import { type Html } from '#libs/pages';
import { type CustomValue, type FieldRecord, valueIn } from '../../fields/index.js';
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
  return fields.flatMap(({ key, name, type }) => {
    const value = values[key];
    if (value === undefined) return [];

    let shown: string;
    if (typeof value === 'boolean') shown = value ? words.yes : words.no;
    else if (typeof value === 'number') shown = numberIn(words, value);
    else if (Array.isArray(value)) shown = value.join(', ');
    else shown = type === 'DATE' ? dateIn(words, value) : value;
    return [{ name, value: shown }];
  });
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
