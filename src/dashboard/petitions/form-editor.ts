import { html, type Html } from '#libs/pages';
import { localeIn } from '#locales';
import { customFieldName, type NamedForm, newForm, STANDARD_FIELDS } from '../../petitions/index.js';
import { customFieldsOf } from '../contacts/custom-values.js';
import { type FormInput, type PageContext } from '../page-context.js';
import { AreaField, CheckField, Folded, SelectField } from '../parts.js';
import { type PetitionRecord } from './petition.js';

const inputOf = (field: string) => `ask-${field}`;

/** @param before the stored form, and whether a comment can be asked for: not in sign-up forms. Fields that it already asks for come first, in their order. */
export async function FormEditorOf(
  context: PageContext,
  before?: Pick<PetitionRecord, 'form'>,
  hasComment = true,
): Promise<Html> {
  const { form, words } = context;
  const { title, hint, choices, consent: texts } = words.petitions.form;
  const { fields, consent } = before?.form ?? newForm(false);
  const asked = fields as NamedForm['fields'];
  const site = localeIn(words.locale).site;
  const place = (name: string) => asked.findIndex(({ field }) => field === name) >>> 0;
  const known = [
    ...STANDARD_FIELDS.filter((name) => hasComment || name !== 'comment').map((name) => ({
      name: name as string,
      label: site.fields[name],
    })),
    ...(await customFieldsOf(context)).map(({ key, name }) => ({ name: customFieldName(key), label: name })),
  ].toSorted((one, other) => place(one.name) - place(other.name));
  const content = html`<p class="hint">${hint}</p>
    <div class="matching">${known.map(({ name, label }) => {
      const stored = asked[place(name)];
      return SelectField(form, {
        name: inputOf(name),
        label,
        value: stored === undefined ? '' : stored.required ? 'required' : 'optional',
        choices: (['', 'optional', 'required'] as const).map((value) => ({
          value,
          text: choices[value === '' ? 'none' : value],
        })),
      });
    })}</div>
    ${AreaField(form, {
      ...{ name: 'form.consent.text', label: texts.text, value: consent.text, isOptional: true },
      hint: texts.hint(site.subscribe(texts.organization)),
    })}
    ${CheckField(form, { name: 'consentRequired', label: texts.required, isTicked: consent.required })}`;
  return Folded(title, content);
}

/**
 * A petition that begins to show comments asks for them.
 *
 * @param before the stored petition. Its custom fields are kept if the editor had none, because the person may not see them.
 * @returns undefined if the request has no form.
 */
export function typedForm(
  form: FormInput,
  before?: Pick<PetitionRecord, 'comments' | 'form'>,
): NamedForm | undefined {
  const inputs = [...form.fields].filter(([name]) => name.startsWith(inputOf('')));
  if (inputs.length === 0) return undefined;
  const typed = new Map(inputs.map(([name, value]) => [name.slice(inputOf('').length), value]));
  const fields = [...typed]
    .filter(([, value]) => value !== '')
    .map(([field, value]) => ({ field, required: value === 'required' }));
  const isNew = (form.get('comments') ?? 'OFF') !== 'OFF' && (before?.comments ?? 'OFF') === 'OFF';
  if (isNew && !typed.get('comment')) fields.push({ field: 'comment', required: false });
  const unseen = (before?.form.fields ?? []).filter(({ field }) => !typed.has(field));
  return {
    fields: [...fields, ...unseen],
    consent: { text: form.typed('form.consent.text'), required: form.has('consentRequired') },
  };
}
