/** What is wrong with what somebody has written. */
export type FormFault =
  | 'email'
  | 'emailMissing'
  | 'firstNameMissing'
  | 'tooLong'
  | 'tooLate'
  | 'tooFast'
  | 'unstorable';

/** A sentence or two for a page of its own. */
export type Notice = { title: string; text: string };

/** All that the pages say in a language. Numbers and dates come written in it. */
export type Words = {
  /** Of the page. */
  locale: string;
  /** By whose customs dates are written. */
  dates: string;
  skip: string;
  footer: string;
  privacy: string;
  feed: string;
  website: string;
  petitions: string;
  posts: string;
  nothingYet: Notice;
  /** `n` chooses the plural; `number` is it, written. */
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
  /** Nobody sees it but who reads what a page is made of. */
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
  /** While the browser does its work. */
  proof: { working: string };
};
