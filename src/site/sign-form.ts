import { html, type Html } from '#libs/pages';
import { type SiteWords } from '#locales';
import { type SignForm, type SiteOrganization, type SitePetition, type TextField } from './site-types.js';

/** The autofill and the keyboard of each field. */
const INPUTS: Record<
  Exclude<TextField, 'comment'>,
  { type: string; autocomplete: string; required: boolean }
> = {
  firstName: { type: 'text', autocomplete: 'given-name', required: true },
  lastName: { type: 'text', autocomplete: 'family-name', required: false },
  email: { type: 'email', autocomplete: 'email', required: true },
  zip: { type: 'text', autocomplete: 'postal-code', required: false },
  country: { type: 'text', autocomplete: 'country-name', required: false },
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
  const hasFaults = Object.keys(form.faults).length > 0;
  const hint = petition.isConfirmed ? words.hints.email : undefined;
  const field = (name: Exclude<TextField, 'comment'>) =>
    FieldOf({ name, form, words, hint: name === 'email' ? hint : undefined });
  return html`${hasFaults ? FaultsOf({ form, words }) : null}
    <form method="post" action="${petition.path}/sign${isFramed ? '?embed' : ''}" novalidate${proof === null ? null : html` data-proof="${proof}" data-working="${words.proof.working}"`}>
      <input type="hidden" name="token" value="${form.token}" />
      ${form.source === null ? null : html`<input type="hidden" name="source" value="${form.source}" />`}
      <div class="pair">${field('firstName')} ${field('lastName')}</div>
      ${field('email')}
      <div class="pair">${field('zip')} ${field('country')}</div>
      ${CommentField({ form, words })}
      ${
        petition.takesComments
          ? Check({
              name: 'isCommentPublic',
              text: words.commentPublic,
              isChecked: form.values.isCommentPublic,
            })
          : null
      }
      ${Check({ name: 'subscribe', text: words.subscribe(organization.name), isChecked: form.values.subscribe })}
      <div class="pot" aria-hidden="true">
        <label for="website">${words.honeypot}</label>
        <input id="website" name="website" type="text" tabindex="-1" autocomplete="off" />
      </div>
      <p><button class="button">${words.button}</button></p>
      <p class="small">
        ${petition.isConfirmed ? words.data(organization.name) : words.dataNone(organization.name)}
        ${organization.privacyUrl === null ? null : html`<a href="${organization.privacyUrl}">${words.privacy}</a>`}
      </p>
    </form>`;
}

function FieldOf({
  name,
  form,
  words,
  hint,
}: {
  name: Exclude<TextField, 'comment'>;
  form: SignForm;
  words: SiteWords;
  hint: string | undefined;
}): Html {
  const { type, autocomplete, required } = INPUTS[name];
  return html`<div class="field${form.faults[name] ? ' wrong' : ''}">
    ${Label({ name, words, required })} ${hint ? html`<p class="hint" id="${name}-hint">${hint}</p>` : null}
    ${FaultOf({ name, form, words })}
    <input
      id="${name}"
      name="${name}"
      type="${type}"
      autocomplete="${autocomplete}"
      maxlength="${name === 'email' ? 254 : 200}"
      value="${form.values[name] ?? ''}"
      ${required ? html`required` : null}
      ${Described({ name, form, hasHint: hint !== undefined })}
    />
  </div>`;
}

function CommentField({ form, words }: { form: SignForm; words: SiteWords }): Html {
  return html`<div class="field${form.faults.comment ? ' wrong' : ''}">
    ${Label({ name: 'comment', words, required: false })}
    <p class="hint" id="comment-hint">${words.hints.comment}</p>
    ${FaultOf({ name: 'comment', form, words })}
    <textarea id="comment" name="comment" rows="3" maxlength="10000" ${Described({ name: 'comment', form, hasHint: true })}>
${form.values.comment ?? ''}</textarea
    >
  </div>`;
}

function Label({ name, words, required }: { name: TextField; words: SiteWords; required: boolean }): Html {
  const optional = required ? null : html` <span class="optional">(${words.optional})</span>`;
  return html`<label for="${name}">${words.fields[name]}${optional}</label>`;
}

function FaultOf({ name, form, words }: { name: TextField; form: SignForm; words: SiteWords }): Html | null {
  const fault = form.faults[name];
  return fault ? html`<p class="fault" id="${name}-fault">${words.faults[fault]}</p>` : null;
}

function Described({
  name,
  form,
  hasHint,
}: {
  name: TextField;
  form: SignForm;
  hasHint: boolean;
}): Html | null {
  const fault = form.faults[name];
  const ids = [...(hasHint ? [`${name}-hint`] : []), ...(fault ? [`${name}-fault`] : [])].join(' ');
  const described = ids === '' ? null : html`aria-describedby="${ids}"`;
  return fault ? html`aria-invalid="true" ${described}` : described;
}

function Check({
  name,
  text,
  isChecked,
}: {
  name: string;
  text: string;
  isChecked: boolean | undefined;
}): Html {
  return html`<div class="check">
    <input id="${name}" name="${name}" type="checkbox" value="yes" ${isChecked ? html`checked` : null} />
    <label for="${name}">${text}</label>
  </div>`;
}

/** The summary of all errors, with links to the fields. It receives the focus when the page loads. */
function FaultsOf({ form, words }: { form: SignForm; words: SiteWords }): Html {
  const { form: whole, ...fields } = form.faults;
  const links = Object.entries(fields).map(
    ([name, fault]) => html`<li><a href="#${name}">${words.faults[fault]}</a></li>`,
  );
  return html`<div class="faults" role="alert" tabindex="-1" id="faults" autofocus>
    <h2>${words.faults.title}</h2>
    ${whole ? html`<p>${words.faults[whole]}</p>` : null}
    ${
      links.length > 0
        ? html`<ul>
          ${links}
        </ul>`
        : null
    }
  </div>`;
}
