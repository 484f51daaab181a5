import {
  CheckOf,
  FaultsOf,
  FieldOf,
  HintOf,
  html,
  type Html,
  OptionalOf,
  OptionsOf,
  trusted,
} from '#libs/pages';
import { type SiteWords } from '#locales';
import { countryChoices } from '../contacts/index.js';
import { APPEARANCES } from '../petitions/index.js';
import { langIn, pathOf, TimeOf } from './parts.js';
import { digestOf } from './form-token.js';
import { embedParameters, type Frame } from './frame.js';
import { inputOfQuestion, QuestionOf, questionsIn } from './questions.js';
import {
  type Asked,
  type SignForm,
  type SiteOrganization,
  type SiteForm,
  type TextField,
} from './site-types.js';

/** The autofill and the keyboard of each field. */
const INPUTS: Record<Exclude<TextField, 'country' | 'comment'>, { type: string; autocomplete: string }> = {
  firstName: { type: 'text', autocomplete: 'given-name' },
  lastName: { type: 'text', autocomplete: 'family-name' },
  email: { type: 'email', autocomplete: 'email' },
  zip: { type: 'text', autocomplete: 'postal-code' },
  city: { type: 'text', autocomplete: 'address-level2' },
  region: { type: 'text', autocomplete: 'address-level1' },
  phone: { type: 'tel', autocomplete: 'tel' },
};
/** Two of these share a line if they follow each other. */
const SHORT: ReadonlySet<string | undefined> = new Set<TextField>([
  'firstName',
  'lastName',
  'zip',
  'city',
  'region',
  'country',
]);

type Props = {
  petition: SiteForm;
  organization: SiteOrganization;
  form: SignForm;
  words: SiteWords;
  /** The path of the challenge; null if no proof of work is required. */
  proof: string | null;
  /** Whether the form is in a frame, so that the next page also opens there. */
  frame?: Frame | null;
};

/** The form on a page of a petition or a sign-up form. After an error, it keeps the typed input. */
export function SignFormOf({ petition, organization, form, words, proof, frame = null }: Props): Html {
  const { title, ...texts } = words.faults;
  const faults = Object.entries(form.faults);
  const { form: whole } = form.faults;
  const { country } = form.values;
  const { asked, consent } = petition;
  const first = asked.filter(isInView);
  const later = asked.filter((one) => !isInView(one));
  const afterNames = first.findIndex(({ field }) => !isName(field));
  const emailAt = afterNames < 0 ? first.length : afterNames;
  const of = (name: TextField, isRequired: boolean, hint?: string) => {
    const fault = form.faults[name];
    const optional = isRequired ? undefined : words.optional;
    return { name, label: words.fields[name], hint, fault: fault && texts[fault], optional, isRequired };
  };
  const field = (name: TextField, isRequired: boolean): Html => {
    if (name === 'comment')
      return html`${FieldOf(
        of(name, isRequired, words.hints.comment),
        (attributes) => html`<textarea ${attributes} rows="3" maxlength="10000">
${form.values.comment ?? ''}</textarea
    >`,
      )}
      ${petition.takesComments ? AppearanceOf(form, words) : null}`;
    if (name === 'country')
      return FieldOf(
        of(name, isRequired),
        (attributes) => html`<select ${attributes} autocomplete="country">
          <option value=""></option>${OptionsOf(countryChoices(words.locale, country), country)}
        </select>`,
      );
    const { type, autocomplete } = INPUTS[name];
    const max = name === 'email' ? 254 : 200;
    return FieldOf(
      of(name, isRequired),
      (attributes) =>
        html`<input ${attributes} type="${type}" autocomplete="${autocomplete}" maxlength="${max}" value="${form.values[name] ?? ''}" />`,
    );
  };
  const fields = (some: readonly Asked[]) =>
    linesOf(some).map((line) => {
      const all = line.map((one) =>
        one.field === undefined ? QuestionOf(one, form, words) : field(one.field, one.required),
      );
      return line.length === 2 ? html`<div class="pair">${all}</div>` : all;
    });
  return html`${
    faults.length === 0
      ? null
      : FaultsOf({
          title,
          text: whole && texts[whole],
          faults: faults
            .filter(([name]) => name !== 'form')
            .map(([name, fault]) => {
              const question = questionsIn(asked).find((one) => inputOfQuestion(one) === name);
              return { field: name, text: question ? `${question.name}: ${texts[fault]}` : texts[fault] };
            }),
        })
  }
    <form method="post" action="${signPath(petition, frame)}" novalidate${proofOf(proof, words)}>
      ${form.meant === undefined ? null : QuestionAbout(form.values.email!, form.meant, words)}
      <input type="hidden" name="token" value="${form.token}" />
      ${form.source === null ? null : html`<input type="hidden" name="source" value="${form.source}" />`}
      ${form.via === null ? null : html`<input type="hidden" name="via" value="${form.via}" />`}
      ${fields(first.slice(0, emailAt))} ${field('email', true)} ${fields(first.slice(emailAt))}
      ${
        later.length === 0
          ? null
          : html`<details${isFilledIn(later, form) ? trusted(' open') : null}>
            <summary>${words.more[partOf(later)]}${OptionalOf(words.optional)}</summary>
            ${fields(later)}
          </details>`
      }
      <input type="hidden" name="consent" value="${digestOf(consent.text)}" />
      ${ConsentOf(consent, form, words)}
      <div class="pot" aria-hidden="true">
        <label for="website">${words.honeypot}</label>
        <input id="website" name="website" type="text" tabindex="-1" autocomplete="off" />
      </div>
      <p class="submit"><button class="button">${words.button}</button></p>
      <p class="small">
        ${petition.closesAt ? Closes({ organization, words, at: petition.closesAt }) : null}
        ${petition.isConfirmed ? words.data(organization.name) : words.dataNone(organization.name)}
        ${organization.privacyUrl === null ? null : html`<a href="${organization.privacyUrl}">${words.privacy}</a>`}
      </p>
    </form>`;
}

/** Whether the comment is public, and with which name. */
function AppearanceOf({ values }: SignForm, { appearance }: SiteWords): Html {
  const options = APPEARANCES.map((value) => ({ value, text: appearance[value] }));
  return FieldOf(
    { name: 'appearance', label: appearance.label },
    (attributes) =>
      html`<select ${attributes} autocomplete="off">${OptionsOf(options, values.appearance)}</select>`,
  );
}

function ConsentOf(
  { text, language, required }: SiteForm['consent'],
  { values, faults }: SignForm,
  words: SiteWords,
): Html {
  const fault = faults.subscribe && words.faults[faults.subscribe];
  const field = { name: 'subscribe', label: text, fault, isRequired: required };
  return html`<div class="field${fault === undefined ? '' : ' wrong'}">
    ${HintOf(field)} ${CheckOf({ ...field, lang: langIn(language, words), value: 'yes', isChecked: values.subscribe === true })}
  </div>`;
}

/** The sentence is written as a whole; the time in it is an element. */
function Closes({ organization, words, at }: Pick<Props, 'organization' | 'words'> & { at: Date }): Html {
  const [before, after] = words.closes('\n').split('\n');
  return html`${before}${TimeOf(words, organization, at)}${after}`;
}

/** The path that a form is sent to. The next page opens in the same frame. */
export function signPath(petition: SiteForm, frame: Frame | null): string {
  return pathOf(petition, '/sign', embedParameters(frame));
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

/** Whether the form requires more than the name, so that one click is not enough. */
export function asksForMore({ asked, consent }: SiteForm): boolean {
  return consent.required || asked.some(({ field, required }) => required && !isName(field));
}

function isName(field: string | undefined): boolean {
  return field === 'firstName' || field === 'lastName';
}

/** Required fields and the name are in view; all others are in a section that expands, so that the button is in view too. */
function isInView({ field, required }: Asked): boolean {
  return required || isName(field);
}

function partOf(later: readonly Asked[]): keyof SiteWords['more'] {
  if (later.every(({ field }) => field !== 'comment')) return 'details';
  return later.length === 1 ? 'comment' : 'both';
}

/** Whether a field of the optional part has input or an error, so that it must be open. */
function isFilledIn(some: readonly Asked[], { values, answers, faults }: SignForm): boolean {
  return some.some((one) =>
    one.field === undefined
      ? inputOfQuestion(one) in faults || answers[inputOfQuestion(one)]?.some(Boolean)
      : one.field in faults || Boolean(values[one.field]),
  );
}

/** Fields one by one or, if both are short, in pairs. */
function linesOf(some: readonly Asked[]): Asked[][] {
  const lines: Asked[][] = [];
  for (const one of some) {
    const last = lines.at(-1);
    if (last?.length === 1 && SHORT.has(last[0]!.field) && SHORT.has(one.field)) last.push(one);
    else lines.push([one]);
  }
  return lines;
}
