/** What operations say of fields, and what it is in words: each kind once, in every language. */
type FaultWords = {
  required: string;
  tooLong: (most: string) => string;
  email: string;
  webAddress: string;
  slug: string;
  looksLikeId: string;
  colour: string;
  wholeNumber: (least: string, most: string) => string;
  choice: string;
  time: string;
  future: string;
  noContact: string;
  sameColumn: string;
  noAddresses: string;
  noTable: string;
  tooWide: string;
  noLines: string;
  /** What no one has translated. */
  other: (why: string) => string;
};

const KINDS: [RegExp, (words: FaultWords, found: RegExpExecArray) => string][] = [
  [/^(is required|must not be (null|empty))$|^must be a list of/, ({ required }) => required],
  [/^must have at most (\d+) characters$/, ({ tooLong }, [, most]) => tooLong(most!)],
  [/^must be an e-mail address/, ({ email }) => email],
  [/^must be an address that begins with https/, ({ webAddress }) => webAddress],
  [/^must be small letters, digits/, ({ slug }) => slug],
  [/^must not look like an id$/, ({ looksLikeId }) => looksLikeId],
  [/^must be a colour/, ({ colour }) => colour],
  [
    /^must be a whole number from (-?\d+) to (-?\d+)/,
    ({ wholeNumber }, [, least, most]) => wholeNumber(least!, most!),
  ],
  [/^must be one of/, ({ choice }) => choice],
  [/^must be an RFC 3339/, ({ time }) => time],
  [/^must lie in the future/, ({ future }) => future],
  [/^is the address of no contact/, ({ noContact }) => noContact],
  [/^is what another column is/, ({ sameColumn }) => sameColumn],
  [/^or another column must be/, ({ noAddresses }) => noAddresses],
  [/^is no table/, ({ noTable }) => noTable],
  [/^has more than 200 columns/, ({ tooWide }) => tooWide],
  [/^has no line under/, ({ noLines }) => noLines],
];

export function faultIn(words: FaultWords, why: string): string {
  for (const [pattern, say] of KINDS) {
    const found = pattern.exec(why);
    if (found) return say(words, found);
  }
  return words.other(why);
}
