/** What is wrong with an answer, or with the form. */
export type FormFault =
  | 'email'
  | 'emailMissing'
  | 'firstNameMissing'
  | 'tooLong'
  | 'tooLate'
  | 'tooFast'
  | 'unstorable';

/** Title and text of a page with one message. */
export type Notice = { title: string; text: string };

/** All texts of the public site in one language. Numbers and dates are formatted before they are passed in. */
export type Words = {
  /** Value of the `lang` attribute. */
  locale: string;
  /** Locale for dates. */
  dates: string;
  skip: string;
  footer: string;
  privacy: string;
  feed: string;
  website: string;
  petitions: string;
  posts: string;
  nothingYet: Notice;
  /** `n` selects the plural form; `number` is `n`, formatted. */
  signatures: (n: number, number: string) => string;
  ofGoal: (goal: string) => string;
  goalReached: (goal: string) => string;
  progress: (percent: string) => string;
  target: string;
  ask: string;
  closes: (date: string) => string;
  closed: Notice;
  toForm: string;
  sign: Notice;
  button: string;
  optional: string;
  fields: {
    firstName: string;
    lastName: string;
    email: string;
    zip: string;
    country: string;
    comment: string;
  };
  hints: { email: string; comment: string };
  commentPublic: string;
  subscribe: (organization: string) => string;
  /** Only visible in the source of the page. */
  honeypot: string;
  data: (organization: string) => string;
  dataNone: (organization: string) => string;
  faults: { title: string; prefix: string } & Record<FormFault, string>;
  comments: string;
  share: Notice;
  shareBy: { mail: string; whatsapp: string; address: string; copy: string; copied: string };
  shareText: (petition: string) => string;
  asked: Notice & { hint: string };
  signed: Notice;
  confirm: {
    title: string;
    text: (petition: string) => string;
    name: string;
    comment: string;
    commentPublic: string;
    button: string;
    ignore: string;
  };
  expired: Notice;
  unknownLink: Notice;
  notFound: Notice;
  tooMany: Notice;
  unavailable: Notice;
  back: string;
  again: string;
  published: (date: string) => string;
  embedTitle: (petition: string) => string;
  /** Shown while the browser computes its proof of work. */
  proof: { working: string };
};
