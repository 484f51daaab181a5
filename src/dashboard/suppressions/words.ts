const en = {
  title: 'Addresses that get no mail',
  text: 'Nothing is sent to them, whatever lists they are on.',
  none: { title: 'No such addresses', text: 'Who unsubscribes, or whose mail comes back, stands here.' },
  email: 'E-mail address',
  wholeAddress:
    'Nothing found. Type the whole address: these are kept so that no part of one can be looked for.',
  add: 'Add an address',
  button: 'Send nothing to it',
  why: 'Why',
  reasons: {
    UNSUBSCRIBED: 'has unsubscribed',
    BOUNCED: 'mail comes back',
    COMPLAINED: 'has complained of spam',
    MANUAL: 'was added by hand',
  },
  gone: 'address not known any more',
  lift: 'Allow again',
  liftOf: (email: string) => `Allow again: mails to ${email}`,
  lifting: {
    title: (email: string) => `Allow mails to ${email} again?`,
    text: 'Only where the person has asked for it: otherwise it is against the law in most countries.',
    button: 'Allow mails again',
  },
  done: {
    added: 'Nothing is sent to this address any more.',
    lifted: 'Mails to this address are allowed again.',
  },
};

const de: typeof en = {
  title: 'Adressen, die keine E-Mails bekommen',
  text: 'An sie wird nichts verschickt, auf welchen Listen sie auch stehen.',
  none: {
    title: 'Keine solchen Adressen',
    text: 'Wer sich abmeldet, oder wessen E-Mails zurückkommen, steht hier.',
  },
  email: 'E-Mail-Adresse',
  wholeAddress:
    'Nichts gefunden. Geben Sie die ganze Adresse ein: Diese sind so aufbewahrt, dass sich nach einem Teil nicht suchen lässt.',
  add: 'Adresse hinzufügen',
  button: 'Nichts mehr dorthin schicken',
  why: 'Warum',
  reasons: {
    UNSUBSCRIBED: 'hat sich abgemeldet',
    BOUNCED: 'E-Mails kommen zurück',
    COMPLAINED: 'hat sich über Spam beschwert',
    MANUAL: 'wurde von Hand hinzugefügt',
  },
  gone: 'Adresse nicht mehr bekannt',
  lift: 'Wieder erlauben',
  liftOf: (email) => `Wieder erlauben: E-Mails an ${email}`,
  lifting: {
    title: (email) => `E-Mails an ${email} wieder erlauben?`,
    text: 'Nur wenn die Person darum gebeten hat: Sonst verstößt es in den meisten Ländern gegen das Gesetz.',
    button: 'E-Mails wieder erlauben',
  },
  done: {
    added: 'An diese Adresse wird nichts mehr verschickt.',
    lifted: 'E-Mails an diese Adresse sind wieder erlaubt.',
  },
};

export const suppressionWords = { en, de };
