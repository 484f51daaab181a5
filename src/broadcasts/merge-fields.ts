import { type Blocker } from './broadcast.js';

/** What stands behind a merge field. Null is shown as nothing. */
export type MergeFields = {
  contact: { [field in (typeof CONTACT_FIELDS)[number]]: string | null };
  organization: { [field in (typeof ORGANIZATION_FIELDS)[number]]: string | null };
  /** Where the audience is one petition's. */
  petition?: { [field in (typeof PETITION_FIELDS)[number]]: string | number | null };
  unsubscribeUrl: string;
};

export const CONTACT_FIELDS = [
  'firstName',
  'lastName',
  'email',
  'phone',
  'mobile',
  'address',
  'zip',
  'city',
  'country',
] as const;
export const ORGANIZATION_FIELDS = ['name', 'website', 'email', 'country', 'postalAddress'] as const;
export const PETITION_FIELDS = [
  'name',
  'title',
  'goal',
  'target',
  'description',
  'ask',
  'signatures',
] as const;

/** A letter's words, with what stood behind its merge fields. */
export type Rendered = { subject: string; preheader: string; html: string; text: string };

/** What is wrong with a template, in words for who wrote it. */
export class TemplateError extends Error {
  constructor(
    readonly hindrance: Extract<Blocker, 'UNKNOWN_MERGE_FIELD' | 'TEMPLATE_INVALID'>,
    message: string,
    /** Which part of the broadcast it is about. */
    readonly part: 'subject' | 'preheader' | 'content' = 'content',
    /** Milliseconds until it failed. */
    readonly took = 0,
  ) {
    super(message);
  }
}
