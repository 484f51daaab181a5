import { html, type Html, trusted } from './html.js';

export type Field = {
  name: string;
  label: string;
  hint?: string | undefined;
  /** Why the input was rejected. */
  fault?: string | undefined;
  /** The word for an optional field, which is shown with its label. */
  optional?: string | undefined;
  isRequired?: boolean;
};

/** A field's label, hint and error above its input. @param input receives the attributes that connect it with them */
export function FieldOf(field: Field, input: (attributes: Html) => Html): Html {
  const { name, label, fault, optional, isRequired = false } = field;
  return html`<div class="field${fault === undefined ? '' : ' wrong'}">
    <label for="${name}">${label}${OptionalOf(optional)}</label>
    ${HintOf(field)}
    ${input(
      html`id="${name}" name="${name}"${describedBy(field)}${
        fault === undefined ? null : trusted(' aria-invalid="true"')
      }${isRequired ? trusted(' required') : null}`,
    )}
  </div>`;
}

export function HintOf({ name, hint, fault }: Field): Html {
  return html`${hint === undefined ? null : html`<p class="hint" id="${name}-hint">${hint}</p>`}
    ${fault === undefined ? null : html`<p class="fault" id="${name}-fault">${fault}</p>`}`;
}

/** The attribute that names a field's hint and its error; null if it has neither. */
export function describedBy({ name, hint, fault }: Field): Html | null {
  const ids = [hint && `${name}-hint`, fault && `${name}-fault`].filter(Boolean).join(' ');
  return ids === '' ? null : html` aria-describedby="${ids}"`;
}

export type Option = { value: string; text: string };

/** The options of a select element. */
export function OptionsOf(options: readonly Option[], chosen: string | undefined): Html {
  return html`${options.map(
    ({ value, text }) =>
      html`<option value="${value}"${value === chosen ? trusted(' selected') : null}>${text}</option>`,
  )}`;
}

type CheckOfOptions = Omit<Field, 'hint'> & {
  /** The attributes of the label, if its language is not that of the page. */
  lang?: Html | null;
  /** If several boxes share a name. */
  id?: string;
  value: string;
  isChecked: boolean;
};

/** A checkbox. Browsers do not send it if it is not checked. */
export function CheckOf({ id, value, isChecked, lang = null, ...field }: CheckOfOptions): Html {
  const { name, label, fault, optional, isRequired = false } = field;
  const own = id ?? name;
  return html`<div class="check">
    <input type="checkbox" id="${own}" name="${name}" value="${value}"${describedBy(field)}${
      fault === undefined ? null : trusted(' aria-invalid="true"')
    }${isRequired ? trusted(' required') : null}${isChecked ? trusted(' checked') : null} />
    <label for="${own}"${lang}>${label}${OptionalOf(optional)}</label>
  </div>`;
}

/** The label of an optional field says so. */
export function OptionalOf(optional: string | undefined): Html | null {
  return optional === undefined ? null : html` <span class="optional">(${optional})</span>`;
}

/** Errors at the top of a form, where people read them first. They link to their fields, and receive the focus when the page loads. */
export function FaultsOf({
  title,
  text,
  faults,
}: {
  title: string;
  text?: string | undefined;
  /** An error without a field is about a part of the form that has no field. */
  faults: readonly { field?: string | undefined; text: string }[];
}): Html {
  return html`<div class="faults" id="faults" role="alert" tabindex="-1" autofocus>
    <h2>${title}</h2>
    ${text === undefined ? null : html`<p>${text}</p>`}
    ${
      faults.length === 0
        ? null
        : html`<ul>
          ${faults.map(({ field, text: fault }) =>
            field === undefined ? html`<li>${fault}</li>` : html`<li><a href="#${field}">${fault}</a></li>`,
          )}
        </ul>`
    }
  </div>`;
}
