import { type Blocker } from './broadcast.js';

/** The values of merge fields. Null renders as nothing. */
export type MergeFields = {
  contact: { [field in (typeof CONTACT_FIELDS)[number]]: string | null } & {
    /** The values of custom fields by their keys. Several options are separated by commas. */
    fields: { [key: string]: string | number | boolean };
  };
  organization: { [field in (typeof ORGANIZATION_FIELDS)[number]]: string | null };
  /** Available only if the audience names a single petition. `signUrl` is the recipient's own link. */
  petition?: { [field in (typeof PETITION_FIELDS)[number]]: string | number | null };
  unsubscribeUrl: string;
  /** The language of the message, in which numbers of the petition are written. Not a merge field. */
  language: string;
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
  'region',
  'country',
] as const;
export const ORGANIZATION_FIELDS = ['name', 'website', 'email', 'country', 'postalAddress'] as const;
export const PETITION_FIELDS = [
  'name',
  'title',
  'url',
  'signUrl',
  'goal',
  'target',
  'description',
  'ask',
  'signatures',
] as const;

/** How the layout shows the content. */
export type Look = {
  /** It has colours of its own, made for a light page: dark mode leaves them alone. */
  hasColours: boolean;
  /** It has a column of its own, so the layout adds no space around it. */
  isWide: boolean;
};

export type Rendered = { subject: string; preheader: string; html: string; text: string; look: Look };

/** An error in a template, described for its author. */
export class TemplateError extends Error {
  constructor(
    readonly blocker: Extract<Blocker, 'UNKNOWN_MERGE_FIELD' | 'TEMPLATE_INVALID'>,
    message: string,
    /** The part of the broadcast that contains the error. */
    readonly part: 'subject' | 'preheader' | 'content' = 'content',
    /** Milliseconds until it failed. */
    readonly took = 0,
  ) {
    super(message);
  }
}
