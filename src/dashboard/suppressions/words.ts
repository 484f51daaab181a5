const en = {
  title: 'Suppressed addresses',
  text: 'No email is sent to these addresses, even if they are on a list.',
  none: {
    title: 'No suppressed addresses',
    text: 'Addresses appear here when people unsubscribe or their email bounces.',
  },
  email: 'Email address',
  wholeAddress:
    'Nothing found. Enter the full address. These addresses are stored in a form that can’t be searched by parts.',
  add: 'Suppress an address',
  button: 'Suppress address',
  why: 'Reason',
  reasons: {
    UNSUBSCRIBED: 'Unsubscribed',
    BOUNCED: 'Bounced',
    COMPLAINED: 'Marked as spam',
    MANUAL: 'Added manually',
  },
  gone: 'Address no longer known',
  lift: 'Allow email again',
  liftOf: (email: string) => `Allow email again: ${email}`,
  lifting: {
    title: (email: string) => `Allow email to ${email} again?`,
    text: 'Only do this if the person asked for it. Otherwise, it is illegal in most countries.',
    button: 'Allow email again',
  },
  done: {
    added: 'Address suppressed. No more email is sent to it.',
    lifted: 'Email to this address is allowed again.',
  },
};

const de: typeof en = {
  title: 'Gesperrte Adressen',
  text: 'An diese Adressen werden keine E-Mails gesendet, auch wenn sie auf einer Liste stehen.',
  none: {
    title: 'Keine gesperrten Adressen',
    text: 'Adressen erscheinen hier, wenn sich jemand abmeldet oder E-Mails unzustellbar sind.',
  },
  email: 'E-Mail-Adresse',
  wholeAddress:
    'Nichts gefunden. Geben Sie die vollständige Adresse ein. Diese Adressen sind so gespeichert, dass sich nicht nach Teilen suchen lässt.',
  add: 'Adresse sperren',
  button: 'Adresse sperren',
  why: 'Grund',
  reasons: {
    UNSUBSCRIBED: 'Abgemeldet',
    BOUNCED: 'Unzustellbar',
    COMPLAINED: 'Als Spam gemeldet',
    MANUAL: 'Manuell hinzugefügt',
  },
  gone: 'Adresse nicht mehr bekannt',
  lift: 'E-Mails wieder erlauben',
  liftOf: (email) => `E-Mails wieder erlauben: ${email}`,
  lifting: {
    title: (email) => `E-Mails an ${email} wieder erlauben?`,
    text: 'Tun Sie das nur, wenn die Person darum gebeten hat. Sonst ist es in den meisten Ländern verboten.',
    button: 'E-Mails wieder erlauben',
  },
  done: {
    added: 'Adresse gesperrt. An sie werden keine E-Mails mehr gesendet.',
    lifted: 'E-Mails an diese Adresse sind wieder erlaubt.',
  },
};

export const suppressionWords = { en, de };
