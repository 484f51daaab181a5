import { Injectable } from '@nestjs/common';
import { Email, Flag, Input, invalid, Keyed, Nested, noSuch, RpcError, Text } from '#libs/rpc';
import { localeIn } from '#locales';
import { PublicAddress } from '../config/index.js';
import { type CustomValue, MOST_VALUE_BYTES } from '../fields/index.js';
import { inputOfQuestion } from './questions.js';
import { Signing } from './signing.js';
import { type Kind, SiteRecords } from './site-records.js';

const DETAILS = ['firstName', 'lastName', 'zip', 'city', 'region', 'country', 'phone'] as const;
/** Seconds until the budget of a network is free again. */
const BUDGET_SECONDS = 3_600;

class SubmittedContact {
  @Email({ example: 'ada@example.org' })
  email!: string;

  @Text({ max: 200, optional: true, nullable: true, example: 'Ada' })
  firstName?: string | null;

  @Text({ max: 200, optional: true, nullable: true, example: 'Lovelace' })
  lastName?: string | null;

  @Text({ max: 200, optional: true, nullable: true })
  zip?: string | null;

  @Text({ max: 200, optional: true, nullable: true })
  city?: string | null;

  @Text({ max: 200, optional: true, nullable: true })
  region?: string | null;

  @Text({ max: 200, optional: true, nullable: true, description: 'A name or an ISO 3166 code.' })
  country?: string | null;

  @Text({ max: 200, optional: true, nullable: true })
  phone?: string | null;

  @Keyed({
    optional: true,
    maxBytes: MOST_VALUE_BYTES,
    values: { type: ['string', 'number', 'boolean', 'array'], items: { type: 'string' } },
    description: 'Values of custom fields by their keys.',
  })
  customFields?: Record<string, CustomValue>;
}

/** What a page of another website sends instead of a form of the public site. */
export abstract class Submission extends Input {
  @Nested(() => SubmittedContact, {
    description: 'The details that the form asks for. Others are ignored.',
  })
  contact!: SubmittedContact;

  @Flag({
    default: false,
    description:
      'Whether the person ticked the box to subscribe to your emails. Show the text of the form’s consent next to it: that text ' +
      'is recorded, and the page that confirms shows it.',
  })
  subscribe!: boolean;

  @Text({ max: 100, optional: true, example: 'homepage', description: 'What led the person there.' })
  source?: string;

  @Text({
    max: 500,
    optional: true,
    nullable: true,
    description:
      'The value of an input that people do not see. If a bot fills it in, the submission is suspicious.',
  })
  website?: string | null;

  @Text({
    max: 2_000,
    optional: true,
    description: 'The proof of work, if the server requires one: see the guide to publishable keys.',
  })
  altcha?: string;
}

/** Runs submissions through the same checks as the forms of the public site. */
@Injectable()
export class Submissions {
  constructor(
    private readonly records: SiteRecords,
    private readonly signing: Signing,
    private readonly address: PublicAddress,
  ) {}

  /**
   * @param more further inputs of the form. @param language of the page that was filled in. Default: the petition's own.
   * @returns whether the person must confirm by email. It is the same for everyone.
   * @throws RpcError NOT_FOUND, BAD_REQUEST with the answers that are missing or wrong, RATE_LIMIT_EXCEEDED, and CONFLICT if
   *   the petition is closed.
   */
  async submit(
    kind: Kind,
    recordId: string,
    command: Submission,
    more: Readonly<Record<string, string | null | undefined>> = {},
    language?: string,
  ): Promise<{ confirmation: 'EMAIL' | 'NONE' }> {
    const { organizationId, context } = command;
    // The link in the email leads to a page of the site.
    const organization = this.address.hasSite
      ? await this.records.organizationById(organizationId)
      : undefined;
    const found =
      organization &&
      (kind === 'forms'
        ? await this.records.form(organization, recordId)
        : await this.records.petition(organization, recordId, { headers: {}, query: { lang: language } }));
    // Slugs name pages, not records.
    if (!organization || found?.value.id !== recordId) throw noSuch(kind === 'forms' ? 'form' : 'petition');
    const { idempotencyKey: key } = context;
    // Anyone can have the key, so its requests must not use up the Idempotency-Keys of the organization's own programs.
    const own = key === undefined ? context : { ...context, idempotencyKey: `public ${key}` };
    const signed = await this.signing.submit(organization, found.value, inputsOf(command, more), own);
    if (signed.status === 'too many') {
      throw new RpcError(
        'RATE_LIMIT_EXCEEDED',
        'Too many people used this form from your network. Try again in an hour.',
        {
          reason: 'ADDRESS_RATE',
          headers: { 'Retry-After': String(BUDGET_SECONDS) },
        },
      );
    }
    if (signed.status === 'faults') {
      const texts = localeIn('en').site.faults;
      throw invalid(
        Object.entries(signed.form.faults).map(([input, fault]) => ({
          path: pathOf(input),
          message: `is wrong: ${texts[fault]}`,
        })),
      );
    }
    return { confirmation: found.value.petition.isConfirmed ? 'EMAIL' : 'NONE' };
  }
}

/** The command as the inputs of the form that the public site shows. */
function inputsOf(
  { contact, subscribe, source, website, altcha }: Submission,
  more: Readonly<Record<string, string | null | undefined>>,
): URLSearchParams {
  const { email, customFields = {} } = contact;
  const details = Object.fromEntries(DETAILS.map((field) => [field, contact[field]]));
  // The page has shown the address, so it is sent as it is.
  const inputs = {
    ...details,
    ...more,
    email,
    questioned: email,
    useEmail: email,
    source,
    website,
    altcha,
  };
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(inputs)) if (typeof value === 'string') given.set(name, value);
  if (subscribe) given.set('subscribe', 'yes');
  for (const [key, value] of Object.entries(customFields)) {
    for (const one of [value].flat())
      given.append(inputOfQuestion({ key }), one === true ? 'yes' : one === false ? '' : String(one));
  }
  return given;
}

/** The field of the operation for an input of the form. */
function pathOf(input: string): string {
  const [, key] = /^fields\.(.*)$/.exec(input) ?? [];
  if (key !== undefined) return `contact.customFields.${key}`;
  return ['comment', 'subscribe'].includes(input) ? input : `contact.${input}`;
}
