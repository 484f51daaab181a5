import { type ShareWords } from '#libs/pages';
/** What is wrong with an answer, or with the form. */
export type FormFault =
  | 'email'
  | `${keyof SiteWords['fields']}Missing`
  | 'phone'
  | 'tooLong'
  | 'tooLate'
  | 'tooFast'
  | 'unstorable'
  | 'missing'
  | 'unchecked'
  /** The text next to the checkbox is no longer the one that was shown. */
  | 'consentChanged'
  | 'number'
  | 'date'
  | 'choice';

/** Title and text of a page with one message. */
export type Notice = { title: string; text: string };

/** All texts of the public site in one language. Numbers and dates are formatted before they are passed in. */
export type SiteWords = {
  /** Value of the `lang` attribute. */
  locale: string;
  /** Locale for dates. */
  dates: string;
  skip: string;
  footer: string;
  /** The name of the links to the page in other languages. */
  languages: string;
  privacy: string;
  feed: string;
  /** The page of the server itself, with links to its parts. */
  home: { title: string; dashboard: string; documentation: string; openapi: string };
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
  /** The document with which a petition is handed over. */
  delivery: {
    by: (organization: string, date: string) => string;
    parts: (online: string, paper: string) => string;
    proof: string;
    signers: string;
    place: string;
    deleted: string;
  };
  /** The sheet on which people sign with a pen. */
  paper: {
    title: string;
    name: string;
    agree: string;
    signature: string;
    online: (url: string) => string;
    agreeTo: string;
  };
  closes: (date: string) => string;
  closed: Notice;
  /** The short text of the button that leads to the form. */
  /** The title of a closed petition, by its outcome. */
  outcomes: { WON: string; LOST: string };
  toForm: string;
  sign: { title: string };
  button: string;
  optional: string;
  yes: string;
  fields: {
    firstName: string;
    lastName: string;
    email: string;
    zip: string;
    city: string;
    region: string;
    country: string;
    phone: string;
    comment: string;
  };
  /** The part of the form with optional fields: a comment, other details, or both. */
  more: Record<'comment' | 'details' | 'both', string>;
  hints: { comment: string };
  /** Whether the page shows the comment, and with which name. */
  appearance: Record<'label' | 'NONE' | 'FIRST_NAME' | 'FULL_NAME', string>;
  subscribe: (organization: string) => string;
  /** Only visible in the source of the page. */
  honeypot: string;
  data: (organization: string) => string;
  dataNone: (organization: string) => string;
  faults: { title: string; prefix: string } & Record<FormFault, string>;
  /** The heading of the posts about a petition. */
  updates: string;
  comments: string;
  share: Notice;
  shareBy: ShareWords;
  shareText: (petition: string) => string;
  /** If the domain of an address looks mistyped. */
  didYouMean: {
    title: (email: string) => string;
    text: (typed: string) => string;
    use: (email: string) => string;
    keep: (typed: string) => string;
  };
  asked: Notice & {
    /** Instead of `text`, if the address is known. */
    to: (email: string) => string;
    open: (webmail: string) => string;
    wrong: string;
    sendAgain: string;
    hint: string;
  };
  signed: Notice;
  /** How many signatures a signer's share link brought. `number` is `n`, formatted. */
  recruited: (n: number, number: string) => string;
  /** The page of a personal link. */
  personal: { button: (name: string) => string; other: string };
  confirm: {
    title: string;
    text: (petition: string) => string;
    name: string;
    comment: string;
    commentPublic: Record<'FIRST_NAME' | 'FULL_NAME', string>;
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
  /** The same for a sign-up form, where it differs. */
  signUp: {
    [
      word in
        | 'button'
        | 'closed'
        | 'data'
        | 'share'
        | 'shareText'
        | 'signed'
        | 'expired'
        | 'unknownLink'
        | 'tooMany'
        | 'back'
        | 'again'
        | 'embedTitle'
    ]: SiteWords[word];
  } & {
    asked: Pick<SiteWords['asked'], 'text' | 'to' | 'hint'>;
    confirm: Omit<SiteWords['confirm'], 'name' | 'comment' | 'commentPublic'>;
    faults: Pick<SiteWords['faults'], 'unchecked'>;
    shareBy: Pick<ShareWords, 'address' | 'qrAlt'>;
    /** Of the built-in form, and of the link to it. */
    title: string;
  };
  /** Shown while the browser computes its proof of work. */
  proof: { working: string };
};

/** Texts of the page on which people unsubscribe. */
export type UnsubscribeWords = {
  unsubscribe: { title: string; text: (organization: string) => string; button: string };
  unsubscribed: { title: string; text: (organization: string) => string; undo: string; button: string };
  /** After they subscribed again. */
  subscribed: { title: string; text: (organization: string) => string };
  unknown: { title: string; text: string };
};

/** Texts of emails. For broadcasts, it contains only the footer, because the organization writes the rest. */
export type EmailWords = {
  invitation: {
    subject: (organization: string) => string;
    text: (organization: string) => string;
    button: string;
    deadline: (days: number) => string;
    ignore: string;
  };
  signIn: {
    subject: string;
    text: (host: string) => string;
    button: string;
    deadline: (minutes: number) => string;
    ignore: string;
  };
  confirmation: {
    subject: (petition: string) => string;
    greeting: (firstName: string | null) => string;
    ask: (petition: string, organization: string) => string;
    button: string;
    deadline: (days: number) => string;
    ignore: string;
    already: { subject: (petition: string) => string; text: (petition: string) => string; button: string };
  };
  /** The same for a sign-up form, where it differs. */
  signUp: {
    subject: (form: string) => string;
    ask: (form: string, organization: string) => string;
    button: string;
    ignore: string;
  };
  disabledWebhook: {
    subject: (organization: string) => string;
    /** @param webhook its `since` is formatted. */
    text: (webhook: { organization: string; since: string; url: string; id: string }) => string;
  };
  /** To members of the team. Numbers are formatted; where the plural matters, the number comes first. */
  notifications: {
    /** In the footer. */
    why: (organization: string) => string;
    off: string;
    settings: string;
    firstSignature: {
      subject: (petition: string) => string;
      text: (petition: string) => string;
      button: string;
    };
    goalReached: {
      subject: (petition: string) => string;
      text: (reached: { petition: string; goal: string; signatures: string }) => string;
      button: string;
    };
    commentWaiting: {
      subject: (comments: number, count: string, petition: string) => string;
      text: (comments: number, count: string, petition: string) => string;
      button: string;
    };
    broadcastFinished: {
      subject: (name: string) => string;
      text: (name: string) => string;
      sent: (people: number, count: string) => string;
      failed: (people: number, count: string) => string;
      inDoubt: (people: number, count: string) => string;
      skipped: (people: number, count: string) => string;
      hindered: { subject: (name: string) => string; text: (name: string) => string; button: string };
      button: string;
    };
    webhookDisabled: {
      subject: (organization: string) => string;
      text: (url: string) => string;
      button: string;
    };
    weeklySummary: {
      subject: (organization: string) => string;
      text: (first: string, last: string) => string;
      figures: { [counted in 'signatures' | 'contacts' | 'unsubscribes']: (count: string) => string };
      petition: (
        title: string,
        added: number,
        counts: { [counted in 'added' | 'signatures' | 'goal']: string },
      ) => string;
      broadcast: (name: string, people: number, count: string) => string;
      comments: (comments: number, count: string) => string;
      button: string;
    };
  };
  broadcastFooter: { why: (organization: string) => string; unsubscribe: string };
};

/** A language of public pages and emails. */
export type Locale = { language: string; site: SiteWords; unsubscribe: UnsubscribeWords; emails: EmailWords };
