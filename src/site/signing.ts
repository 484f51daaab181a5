import { Injectable } from '@nestjs/common';
import { type Request } from 'express';
import { EventStore } from '#libs/event-store';
import { isSentAsCompared } from '#libs/mail';
import { inputOf, OperationRunner, type RequestContext, requestContext, UNSTORABLE } from '#libs/rpc';
import { type FormFault } from '#locales';
import { type Confirmed } from '../confirmations/index.js';
import { ConfirmSignUp, RequestSignUp } from '../forms/index.js';
import { countryCode } from '../contacts/index.js';
import {
  type Appearance,
  APPEARANCES,
  ConfirmSignature,
  Recruiting,
  RequestSignature,
} from '../petitions/index.js';
import { Budgets } from './budgets.js';
import { digestOf, faultOf, formToken } from './form-token.js';
import { probablyMeant } from './mail-providers.js';
import { isPetition } from './parts.js';
import { ProofOfWork } from './proof-of-work.js';
import { inputOfQuestion, questionsIn, readAnswers } from './questions.js';
import { type FoundOrganization, type FoundForm, type Kind } from './site-records.js';
import { type Kept, type SignForm, type SiteForm, type TextField, type Values } from './site-types.js';

const MAX_LENGTH: Record<TextField, number> = {
  firstName: 200,
  lastName: 200,
  email: 254,
  zip: 200,
  city: 200,
  region: 200,
  country: 200,
  phone: 200,
  comment: 10_000,
};
/** Digits of the shortest phone numbers, without their area code. */
const PHONE = /(?:\p{Nd}\P{Nd}*){4}/u;
/** Characters that change the direction of the surrounding text, which names and comments do not need. */
const OVERRIDES = /[\u202A-\u202E\u2066-\u2069]/gu;
const INVISIBLE = /\p{Default_Ignorable_Code_Point}|\s/gu;
/** Inputs that belong to one attempt. */
const ONCE: readonly string[] = ['token', 'email', 'questioned', 'useEmail', 'altcha'];
const SOURCE = /^[\w.-]{1,100}$/;

/** `kept`: the input apart from the address, to request the signature with another address. */
export type Signed =
  | { status: 'taken'; email: string; kept: Kept }
  | { status: 'too many' }
  | { status: 'faults'; form: SignForm };

/** What people send from pages of petitions and sign-up forms, on behalf of the public. */
@Injectable()
export class Signing {
  constructor(
    private readonly runner: OperationRunner,
    private readonly store: EventStore,
    private readonly budgets: Budgets,
    private readonly proof: ProofOfWork,
    private readonly recruiting: Recruiting,
  ) {}

  /**
   * An empty form.
   *
   * @param source the campaign or site that the visitor came from. @param via the token of the signer whose link they followed.
   */
  emptyForm({ id }: FoundForm, source: string | null, via: string | null = null): SignForm {
    return {
      token: formToken(this.store.keyring, id, new Date()),
      source,
      via,
      values: {},
      answers: {},
      faults: {},
    };
  }

  /** From a page of the site. @throws RpcError CONFLICT if the petition or form has closed in the meantime. */
  sign(
    organization: FoundOrganization,
    found: FoundForm,
    given: URLSearchParams,
    request: Request,
  ): Promise<Signed> {
    return this.take(organization, found, given, contextOf(request, organization.id), true);
  }

  /** From a page of another website, which has no form token. Throws like `sign`. */
  submit(
    organization: FoundOrganization,
    found: FoundForm,
    given: URLSearchParams,
    context: RequestContext,
  ): Promise<Signed> {
    return this.take(organization, found, given, context, false);
  }

  private async take(
    organization: FoundOrganization,
    found: FoundForm,
    given: URLSearchParams,
    context: RequestContext,
    isOwnPage: boolean,
  ): Promise<Signed> {
    const form = this.read(found, given, isOwnPage);
    if (Object.keys(form.faults).length > 0 || form.meant !== undefined) return { status: 'faults', form };
    const suspicion = await this.budgets.take(found.id, context.client?.address);
    if (!suspicion) return { status: 'too many' };
    if (given.get('website')) suspicion.push('HONEYPOT');
    if (this.proof.isRequired && !(await this.proof.holds(given.get('altcha'))))
      suspicion.push('NO_PROOF_OF_WORK');
    const { values, source } = form;
    const text = (field: TextField) => (values[field] === '' ? null : (values[field] ?? null));
    const { petition } = found;
    const details = {
      email: values.email!,
      firstName: text('firstName'),
      lastName: text('lastName'),
      zip: text('zip'),
      city: text('city'),
      region: text('region'),
      country: countryCode(values.country ?? '') ?? null,
      phone: text('phone'),
      clientAddress: addressOf({ ip: context.client?.address }),
      customFields: readAnswers(questionsIn(petition.asked), form.answers).values,
    };
    const sent = {
      subscribe: values.subscribe === true,
      source,
      consent: {
        source: isOwnPage ? petition.path : (context.client?.origin ?? petition.path),
        // Another website may have shown anything. The page that confirms shows this text.
        text: petition.consent.text,
        language: petition.consent.language,
      },
      suspicion,
    };
    if (isPetition(petition)) {
      const { appearance: chosen = 'NONE' } = values;
      const appearance = petition.takesComments ? chosen : 'NONE';
      const shown = { comment: text('comment'), appearance, isCommentPublic: appearance !== 'NONE' };
      const via = this.recruiting.readToken(found.id, form.via);
      const { language } = petition;
      const fields = { petitionId: found.id, ...details, ...sent, ...shown, via, language };
      await this.runner.execute(inputOf(RequestSignature, fields, context));
    } else
      await this.runner.execute(
        inputOf(RequestSignUp, { formId: found.id, person: details, ...sent }, context),
      );
    const kept = [...given].filter(([name]) => !ONCE.includes(name));
    kept.push(['token', form.token]);
    return { status: 'taken', email: values.email!, kept };
  }

  confirm(kind: Kind, request: Request, organizationId: string, requestId: string): Promise<Confirmed> {
    const type = kind === 'forms' ? ConfirmSignUp : ConfirmSignature;
    const fields = { requestId, isProved: true };
    return this.runner.execute(inputOf(type, fields, contextOf(request, organizationId)));
  }

  /** Reads the form and its errors. All values are kept, so that it can be sent again. */
  private read(petition: FoundForm, given: URLSearchParams, hasToken: boolean): SignForm {
    const { asked, consent } = petition.petition;
    const details = detailsIn(asked);
    const values: Values = {
      ...Object.fromEntries(
        details.map(({ field }) => [field, given.get(field)?.replace(OVERRIDES, '').trim() ?? undefined]),
      ),
      appearance: readAppearance(given),
      subscribe: given.has('subscribe'),
    };
    // The buttons below “Did you mean …?” choose between addresses. A person who has edited the field since
    // then means neither.
    const isQuestioned = values.email !== undefined && values.email === given.get('questioned');
    if (isQuestioned) values.email = given.get('useEmail')?.replace(OVERRIDES, '').trim() ?? values.email;
    const questions = questionsIn(asked);
    const answers = Object.fromEntries(
      questions
        .map(inputOfQuestion)
        .map((name) => [name, given.getAll(name).map((text) => text.replace(OVERRIDES, ''))]),
    );
    const faults: SignForm['faults'] = {};
    for (const { field, required } of details) {
      const fault = faultIn(field, values[field], required);
      if (fault) faults[field] = fault;
    }
    Object.assign(faults, readAnswers(questions, answers).faults);
    const seen = given.get('consent');
    if (values.subscribe && seen !== null && seen !== digestOf(consent.text)) {
      faults.subscribe = 'consentChanged';
      values.subscribe = false;
    } else if (consent.required && !values.subscribe) faults.subscribe = 'unchecked';
    const { keyring } = this.store;
    const token = given.get('token') ?? '';
    const stale = hasToken ? faultOf(keyring, petition.id, token, new Date()) : undefined;
    if (stale) faults.form = stale;
    const source = given.get('source');
    const hasFaults = Object.keys(faults).length > 0;
    const meant = isQuestioned || hasFaults ? undefined : probablyMeant(values.email!);
    return {
      ...(meant === undefined ? {} : { meant }),
      // If the form was sent too fast, the next attempt does not have to wait again.
      token: stale === 'tooFast' ? token : formToken(keyring, petition.id, new Date(Date.now() - 2_000)),
      source: readSource(source),
      via: given.get('via'),
      values,
      answers,
      faults,
    };
  }
}

/** The client's address. null: unknown. */
export function addressOf({ ip }: { ip?: string | undefined }): string | null {
  return ip?.replace(/^::ffff:/, '') ?? null;
}

/** The public acts, without a key. */
export function contextOf(request: Request, organizationId: string): RequestContext {
  return requestContext({ organizationId, actor: { type: 'public', id: null }, scopes: [] }, request);
}

function readAppearance(given: URLSearchParams): Appearance {
  // Pages of the previous version had a checkbox.
  const chosen = given.has('isCommentPublic') ? 'FIRST_NAME' : given.get('appearance');
  return APPEARANCES.find((one) => one === chosen) ?? 'NONE';
}

/** The person's details that a form asks for. */
function detailsIn(asked: SiteForm['asked']): { field: TextField; required: boolean }[] {
  return [{ field: 'email', required: true }, ...asked.filter((one) => one.field !== undefined)];
}

function faultIn(field: TextField, value: string | undefined, required: boolean): FormFault | undefined {
  if (value === undefined || value.replace(INVISIBLE, '') === '')
    return required ? `${field}Missing` : undefined;
  if (UNSTORABLE.test(value)) return 'unstorable';
  if ([...value].length > MAX_LENGTH[field]) return field === 'email' ? 'email' : 'tooLong';
  if (field === 'country' && countryCode(value) === undefined) return 'choice';
  if (field === 'phone' && !PHONE.test(value)) return 'phone';
  // Quoting allows many spellings of the same mailbox. Real addresses do not use it.
  return field === 'email' && (!isSentAsCompared(value) || /["\\]/.test(value)) ? 'email' : undefined;
}

/** The source that the address of the page names; null if it is missing or invalid. */
export function readSource(text: unknown): string | null {
  return typeof text === 'string' && SOURCE.test(text) ? text : null;
}
