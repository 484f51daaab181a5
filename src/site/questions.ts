import { CheckOf, describedBy, FieldOf, HintOf, html, type Html, OptionalOf, OptionsOf } from '#libs/pages';
import { type FormFault, type SiteWords } from '#locales';
import { type CustomValue, MOST_VALUE_BYTES, readValue, valueIn } from '../fields/index.js';
import { type Asked, type Question, type SignForm } from './site-types.js';

/** The custom fields among what a form asks for. */
export function questionsIn(asked: readonly Asked[]): Question[] {
  return asked.filter((one) => one.field === undefined);
}

/** The name of a question's input. Other fields of the form have no dot in their names. */
export function inputOfQuestion({ key }: Pick<Question, 'key'>): string {
  return `fields.${key}`;
}

/**
 * Reads the answers to the questions of a form.
 *
 * @param typed by the name of the input.
 * @returns `values` by the id of the field, without those left empty. `faults` by the name of the input.
 */
export function readAnswers(
  questions: readonly Question[],
  typed: SignForm['answers'],
): { values: { [fieldId: string]: CustomValue }; faults: { [name: string]: FormFault } } {
  const values: { [fieldId: string]: CustomValue } = {};
  const faults: { [name: string]: FormFault } = {};
  for (const question of questions) {
    const name = inputOfQuestion(question);
    const texts = typed[name] ?? [];
    const given = question.type === 'CHOICES' ? texts : valueIn(question, texts[0] ?? '', (text) => [text]);
    const read = readValue(question, given);
    if ('problem' in read) faults[name] = faultOf(question, read.problem);
    // An unchecked box says nothing: a contact who once said yes has not changed their mind.
    else if (read.value === null || read.value === false) {
      if (question.required) faults[name] = question.type === 'BOOLEAN' ? 'unchecked' : 'missing';
    } else values[question.id] = read.value;
  }
  // Only texts can be this long.
  if (Buffer.byteLength(JSON.stringify(values)) > MOST_VALUE_BYTES)
    for (const question of questions)
      if (question.type === 'TEXT' && values[question.id]) faults[inputOfQuestion(question)] ??= 'tooLong';
  return { values, faults };
}

function faultOf({ type }: Question, problem: string): FormFault {
  switch (type) {
    case 'TEXT':
      return problem.startsWith('must have at most') ? 'tooLong' : 'unstorable';
    case 'NUMBER':
      return 'number';
    case 'DATE':
      return 'date';
    case 'BOOLEAN':
    case 'CHOICE':
    case 'CHOICES':
      return 'choice';
  }
}

/** A question in the form on a petition's page. */
export function QuestionOf(question: Question, { answers, faults }: SignForm, words: SiteWords): Html {
  const { name: label, type, required } = question;
  const name = inputOfQuestion(question);
  const fault = faults[name] && words.faults[faults[name]];
  const field = {
    ...{ name, label, fault, isRequired: required },
    optional: required ? undefined : words.optional,
  };
  const texts = answers[name] ?? [];
  const options = (question.options ?? []).map((option) => ({ value: option, text: option }));
  const input = (attributes: Html) =>
    FieldOf(
      field,
      (own) => html`<input ${own} ${attributes} autocomplete="off" value="${texts[0] ?? ''}" />`,
    );
  switch (type) {
    case 'TEXT':
      return input(html`type="text" maxlength="1000"`);
    case 'NUMBER':
      return input(html`type="text" inputmode="decimal"`);
    case 'DATE':
      return input(html`type="date"`);
    case 'CHOICE':
      return FieldOf(
        field,
        (own) =>
          html`<select ${own} autocomplete="off"><option value=""></option>${OptionsOf(options, texts[0])}</select>`,
      );
    case 'BOOLEAN':
      return html`<div class="field${fault === undefined ? '' : ' wrong'}">
        ${HintOf(field)} ${CheckOf({ ...field, value: 'yes', isChecked: texts.includes('yes') })}
      </div>`;
    case 'CHOICES':
      return html`<fieldset class="field${fault === undefined ? '' : ' wrong'}" id="${name}" tabindex="-1"${describedBy(field)}>
        <legend>${label}${OptionalOf(field.optional)}</legend>
        ${HintOf(field)}
        ${options.map(({ value, text }, n) =>
          CheckOf({ id: `${name}-${n}`, name, label: text, value, isChecked: texts.includes(value) }),
        )}
      </fieldset>`;
  }
}
