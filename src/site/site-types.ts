import { type Html } from '#libs/pages';
import { type FormFault } from '#locales';
import { type FieldDefinition } from '../fields/index.js';
import { type Appearance, type Outcome, STANDARD_FIELDS, type StandardField } from '../petitions/index.js';

/** An image for pages: paths on this server, narrowest first. */
export type Picture = {
  alt: string | null;
  width: number;
  height: number;
  /** The path of the widest JPEG or PNG. */
  path: string;
  /** Its absolute URL. */
  url: string;
  variants: readonly { path: string; width: number; type: string }[];
};

/** The organization of a page. `path` is relative to this server, `url` is absolute; neither ends with a slash. */
export type SiteOrganization = {
  name: string;
  path: string;
  url: string;
  website: string | null;
  language: string;
  colour: string | null;
  logo: Picture | null;
  privacyUrl: string | null;
  timeZone: string;
};

export type Comment = { name: string; text: string; at: Date };

/** A custom field that the form asks for. */
export type Question = FieldDefinition & { required: boolean };

/** What the form asks for: a detail of the signer, or a custom field. */
export type Asked = { field: StandardField; required: boolean } | (Question & { field?: undefined });

/** What a page asks people for: a petition, or a sign-up form. */
export type SiteForm = {
  title: string;
  path: string;
  url: string;
  /** The language of its texts (BCP 47), and all languages in which its page exists, its own first. */
  language: string;
  languages: readonly string[];
  /** Texts that the translation leaves out, which are in the petition's own language. */
  foreign: { [text in TranslatedText]?: string };
  description: string | null;
  isOpen: boolean;
  isConfirmed: boolean;
  closesAt: Date | null;
  takesComments: boolean;
  /** In the order of the form, which also asks for the email address. */
  asked: readonly Asked[];
  /** The checkbox to subscribe, and the language of its text. */
  consent: { text: string; language: string; required: boolean };
  /** What the organization shows afterwards instead of the texts of the site. */
  thankYou: ThankYou | null;
};

/** Texts of a page that can be translated. */
export const TRANSLATED_TEXTS = [
  'title',
  'description',
  'target',
  'ask',
  'content',
  'outcomeText',
  'thankYou',
] as const;
export type TranslatedText = (typeof TRANSLATED_TEXTS)[number];

export type SitePetition = SiteForm & {
  ask: string | null;
  target: string | null;
  content: Html | null;
  goal: number;
  signatures: number;
  /** Its outcome, once it is closed. */
  outcome: { is: Outcome; text: Html | null } | null;
  image: Picture | null;
  comments: readonly Comment[];
  /** News about it, newest first. */
  updates: readonly Pick<SitePost, 'title' | 'path' | 'description' | 'publishedAt'>[];
};

export type ThankYou = {
  title: string | null;
  text: Html | null;
  /** The button that leads to what signers can do next. */
  next: { url: string; label: string } | null;
};

export type SitePost = {
  title: string;
  path: string;
  url: string;
  description: string | null;
  content: Html | null;
  image: Picture | null;
  publishedAt: Date;
};

/** The petition that a post is about. */
export type PostSubject = Pick<SitePetition, 'title' | 'path' | 'isOpen'>;

/** Fields of the form other than custom fields. */
const TEXT_FIELDS = ['email', ...STANDARD_FIELDS] as const;
export type TextField = (typeof TEXT_FIELDS)[number];
export type Values = Partial<Record<TextField, string>> & { appearance?: Appearance; subscribe?: boolean };

/** Names and values of inputs, to send them again. */
export type Kept = readonly (readonly [name: string, value: string])[];

export type SignForm = {
  token: string;
  source: string | null;
  /** The token of the signer whose link led here. */
  via: string | null;
  values: Values;
  /** What was entered for questions, by the name of the input. */
  answers: { readonly [name: string]: readonly string[] };
  /** The address that was probably meant instead of the typed one. */
  meant?: string;
  /** By the name of the input. `form` concerns the whole form. */
  faults: { [name: string]: FormFault };
};
