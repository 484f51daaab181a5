import { CheckOf, FaultsOf, FieldOf, html, type Html, OptionalOf, OptionsOf, trusted } from '#libs/pages';
import { type SiteWords } from '#locales';
import { countryChoices } from '../contacts/index.js';
import { dateIn } from './parts.js';
import { inputOfQuestion, QuestionOf } from './questions.js';
import { type SignForm, type SiteOrganization, type SitePetition, type TextField } from './site-types.js';

/** The autofill and the keyboard of each field. */
const INPUTS: Record<
  Exclude<TextField, 'country' | 'comment'>,
  { type: string; autocomplete: string; required: boolean }
> = {
  firstName: { type: 'text', autocomplete: 'given-name', required: true },
  lastName: { type: 'text', autocomplete: 'family-name', required: false },
  email: { type: 'email', autocomplete: 'email', required: true },
  zip: { type: 'text', autocomplete: 'postal-code', required: false },
};

type Props = {
  petition: SitePetition;
  organization: SiteOrganization;
  form: SignForm;
  words: SiteWords;
  /** The path of the challenge; null if no proof of work is required. */
  proof: string | null;
  /** Whether the form is in a frame, so that the next page also opens there. */
  isFramed?: boolean;
};

/** The form on a petition page. After an error, it keeps the typed input. */
export function SignFormOf({ petition, organization, form, words, proof, isFramed = false }: Props): Html {
  const { title, ...texts } = words.faults;
  const faults = Object.entries(form.faults);
  const { form: whole } = form.faults;
  const { country } = form.values;
  const questions = (isRequired: boolean) =>
    petition.questions
      .filter(({ required }) => required === isRequired)
      .map((question) => QuestionOf(question, form, words));
  const of = (name: TextField, isRequired: boolean, hint?: string) => {
    const fault = form.faults[name];
    const optional = isRequired ? undefined : words.optional;
    return { name, label: words.fields[name], hint, fault: fault && texts[fault], optional, isRequired };
  };
  const field = (name: keyof typeof INPUTS) => {
    const { type, autocomplete, required } = INPUTS[name];
    const max = name === 'email' ? 254 : 200;
    return FieldOf(
      of(name, required),
      (attributes) =>
        html`<input ${attributes} type="${type}" autocomplete="${autocomplete}" maxlength="${max}" value="${form.values[name] ?? ''}" />`,
    );
  };
  const check = (name: 'isCommentPublic' | 'subscribe', label: string) =>
    CheckOf({ name, label, value: 'yes', isChecked: form.values[name] === true });
  return html`${
    faults.length === 0
      ? null
      : FaultsOf({
          title,
          text: whole && texts[whole],
          faults: faults
            .filter(([name]) => name !== 'form')
            .map(([name, fault]) => {
              const question = petition.questions.find((one) => inputOfQuestion(one) === name);
              return { field: name, text: question ? `${question.name}: ${texts[fault]}` : texts[fault] };
            }),
        })
  }
    <form method="post" action="${signPath(petition, isFramed)}" novalidate${proofOf(proof, words)}>
      ${form.meant === undefined ? null : QuestionAbout(form.values.email!, form.meant, words)}
      <input type="hidden" name="token" value="${form.token}" />
      ${form.source === null ? null : html`<input type="hidden" name="source" value="${form.source}" />`}
      <div class="pair">${field('firstName')} ${field('lastName')}</div>
      ${field('email')}
      ${questions(true)}
      <details${isFilledIn(petition, form) ? trusted(' open') : null}>
        <summary>${words.more}${OptionalOf(words.optional)}</summary>
        ${questions(false)}
        ${FieldOf(
          of('comment', false, words.hints.comment),
          (attributes) => html`<textarea ${attributes} rows="3" maxlength="10000">
${form.values.comment ?? ''}</textarea
    >`,
        )}
        ${petition.takesComments ? check('isCommentPublic', words.commentPublic) : null}
        <div class="pair">${field('zip')}
          ${FieldOf(
            of('country', false),
            (attributes) => html`<select ${attributes} autocomplete="country">
              <option value=""></option>${OptionsOf(countryChoices(words.locale, country), country)}
            </select>`,
          )}</div>
      </details>
      ${check('subscribe', words.subscribe(organization.name))}
      <div class="pot" aria-hidden="true">
        <label for="website">${words.honeypot}</label>
        <input id="website" name="website" type="text" tabindex="-1" autocomplete="off" />
      </div>
      <p class="submit"><button class="button">${words.button}</button></p>
      <p class="small">
        ${petition.closesAt ? words.closes(dateIn(words, petition.closesAt, true)) : null}
        ${petition.isConfirmed ? words.data(organization.name) : words.dataNone(organization.name)}
        ${organization.privacyUrl === null ? null : html`<a href="${organization.privacyUrl}">${words.privacy}</a>`}
      </p>
    </form>`;
}

/** The path that a form is sent to. The next page opens in the same frame. */
export function signPath({ path }: Pick<SitePetition, 'path'>, isFramed: boolean): string {
  return `${path}/sign${isFramed ? '?embed' : ''}`;
}

export function scriptsFor(proof: string | null): string[] {
  return proof === null ? [] : ['/site/proof.js'];
}

/** The attributes with which a script computes the proof of work before the form is sent. */
export function proofOf(proof: string | null, words: SiteWords): Html | null {
  return proof === null ? null : html` data-proof="${proof}" data-working="${words.proof.working}"`;
}

/** Asks whether an address was mistyped. It gets the focus when the page loads. */
function QuestionAbout(typed: string, meant: string, { didYouMean }: SiteWords): Html {
  return html`<div class="faults question" id="faults" role="alert" tabindex="-1" autofocus>
    <h2>${didYouMean.title(meant)}</h2>
    <p>${didYouMean.text(typed)}</p>
    <input type="hidden" name="questioned" value="${typed}" />
    <button class="button" name="useEmail" value="${meant}">${didYouMean.use(meant)}</button>
    <button class="button plain" name="useEmail" value="${typed}">${didYouMean.keep(typed)}</button>
  </div>`;
}

/** Whether a field of the optional part has input or an error, so that it must be open. */
function isFilledIn({ questions }: SitePetition, { values, answers, faults }: SignForm): boolean {
  const { zip, country, comment } = values;
  const optional = questions.filter(({ required }) => !required).map(inputOfQuestion);
  return (
    [zip, country, comment].some(Boolean) ||
    ['zip', 'country', 'comment', ...optional].some((name) => name in faults) ||
    optional.some((name) => answers[name]?.some(Boolean))
  );
}
