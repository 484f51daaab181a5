import { type DashboardWords } from '#locales';

/** One text per kind of validation error, in the person's language. */
type FaultWords = DashboardWords['faults'];

/** The error of a field without a value. */
export const MISSING = /^(is required|must not be (null|empty))$/;

const KINDS: [RegExp, (words: FaultWords, found: RegExpExecArray) => string][] = [
  // These two precede `must be a list of`, which also matches these messages but means an empty list.
  [/^must be a list of at most (\d+) names$/, ({ tooMany }, [, most]) => tooMany(most!)],
  [/^must be a list of at most (\d+) (IDs|objects)$/, ({ fewer }, [, most]) => fewer(most!)],
  [/^must contain only names/, ({ names }) => names],
  [/^must be true or false$/, ({ yesOrNo }) => yesOrNo],
  [MISSING, ({ required }) => required],
  [/^must be a list of/, ({ some }) => some],
  [/^is not a file/, ({ noFile }) => noFile],
  [/^has to wait for other imports/, ({ laterFile }) => laterFile],
  [/^is not an image/, ({ noPicture }) => noPicture],
  [/^is a picture that cannot/, ({ brokenPicture }) => brokenPicture],
  [/^is too large an image/, ({ largePicture }) => largePicture],
  [/^must have at most (\d+) characters$/, ({ tooLong }, [, most]) => tooLong(most!)],
  [/^must be an e-?mail address/, ({ email }) => email],
  [/^must be a URL that starts with https/, ({ webAddress }) => webAddress],
  [/^is not allowed: it must be an https/, ({ publicAddress }) => publicAddress],
  [/^must be an address that email can be sent from/, ({ asciiAddress }) => asciiAddress],
  [/^must contain only lowercase letters, digits/, ({ slug }) => slug],
  [/^is an address of this server/, ({ ownSlug }) => ownSlug],
  [/^must not look like an ID$/, ({ looksLikeId }) => looksLikeId],
  [/^must be a color/, ({ colour }) => colour],
  // Leaves out an upper limit that no one reaches.
  [/^must be a whole number from (-?\d+) to \d{12,}/, ({ atLeast }, [, least]) => atLeast(least!)],
  [
    /^must be a whole number from (-?\d+) to (-?\d+)/,
    ({ wholeNumber }, [, least, most]) => wholeNumber(least!, most!),
  ],
  [/stored encrypted$/, ({ sealed }) => sealed],
  [/^is not the name of a record/, ({ noRecord }) => noRecord],
  [/^must be a text that is not empty/, ({ required }) => required],
  [
    /^must be a number of days from (\d+) to (\d+)/,
    ({ wholeNumber }, [, least, most]) => wholeNumber(least!, most!),
  ],
  [/^must be one of/, ({ choice }) => choice],
  [/^must start with the (lower|earlier)/, ({ order }) => order],
  [/^must be an RFC 3339/, ({ time }) => time],
  [/^must be in the future/, ({ future }) => future],
  [/^must be an IP address or range/, ({ range }) => range],
  [/^NO_SUBJECT: /, ({ noSubject }) => noSubject],
  [/^NO_CONTENT: /, ({ noText }) => noText],
  [/^NO_SENDER: /, ({ noSender }) => noSender],
  [/^NO_POSTAL_ADDRESS: /, ({ noPostalAddress }) => noPostalAddress],
  [/^NO_RECIPIENTS: /, ({ nobody }) => nobody],
  [
    /^UNKNOWN_MERGE_FIELD: Unknown merge field: (.*?)\. Available fields: (.*)\.$/,
    ({ mergeField }, [, fields, known]) => mergeField(fields!, known!),
  ],
  // Messages of the template engine. For unknown ones, the page shows at least the line.
  [
    /^TEMPLATE_INVALID: [^:]*: (?:output|tag) "?(.*?)"? not closed, line:(\d+)/,
    ({ templateUnclosed }, [, what, line]) => templateUnclosed(what!, line!),
  ],
  [
    /^TEMPLATE_INVALID: [^:]*: tag "(.*)" not found, line:(\d+)/,
    ({ templateTag }, [, tag, line]) => templateTag(tag!, line!),
  ],
  [
    /^TEMPLATE_INVALID: [^:]*: undefined filter: (.*), line:(\d+)/,
    ({ templateFilter }, [, filter, line]) => templateFilter(filter!, line!),
  ],
  [/^TEMPLATE_INVALID: .*(limit exceeded|takes too long)/, ({ templateTooLong }) => templateTooLong],
  [
    /^TEMPLATE_INVALID: .*too many .*\. The limit is (\d+)/,
    ({ templateTooMuch }, [, most]) => templateTooMuch(Number(most)),
  ],
  [/^TEMPLATE_INVALID: .*line:(\d+)/, ({ templateLine }, [, line]) => templateLine(line!)],
  [/^TEMPLATE_INVALID: /, ({ template }) => template],
  [/^does not belong to any contact/, ({ noContact }) => noContact],
  [/^is what another column is/, ({ sameColumn }) => sameColumn],
  [/^or another column must be/, ({ noAddresses }) => noAddresses],
  [/^is an Excel file/, ({ excelFile }) => excelFile],
  [/^has an address in its first line/, ({ noHeader }) => noHeader],
  [/^must be yes or no, or a status/, ({ noStatus }) => noStatus],
  [/^must be an unambiguous date/, ({ unclearTime }) => unclearTime],
  [/^must not be in the future/, ({ pastTime }) => pastTime],
  [/^must not be before 1970$/, ({ earlyTime }) => earlyTime],
  [/only confirmed signatures are imported$/, ({ unconfirmed }) => unconfirmed],
  [/^must be an IP address/, ({ ipAddress }) => ipAddress],
  [/^has a first row that cannot be read/, ({ noFirstRow }) => noFirstRow],
  [/^may state who gets no email/, ({ optOutColumn }) => optOutColumn],
  [/^is not a readable table/, ({ noTable }) => noTable],
  [/^has more than 200 columns/, ({ tooWide }) => tooWide],
  [/^must contain only IDs like civicrm:123/, ({ externalIds }) => externalIds],
  [/^must be a number$/, ({ number }) => number],
  [/^must be a date like/, ({ date }) => date],
  [/^would have more than (\d+) KiB in total/, ({ tooMuch }, [, most]) => tooMuch(most!)],
  [/^belongs to the contact/, ({ externalIdTaken }) => externalIdTaken],
  [/^needs at least one option/, ({ noOptions }) => noOptions],
  [/^is only for fields of the types CHOICE/, ({ notOptions }) => notOptions],
  [/^has no lines below/, ({ noLines }) => noLines],
];

export function faultIn(words: FaultWords, why: string): string {
  for (const [pattern, say] of KINDS) {
    const found = pattern.exec(why);
    if (found) return say(words, found);
  }
  return words.other(why);
}
