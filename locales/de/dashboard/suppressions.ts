import { type suppressions as en } from '../../en/dashboard/suppressions.js';

export const suppressions: typeof en = {
  title: 'Gesperrte Adressen',
  text: 'An diese Adressen werden keine E‑Mails gesendet, auch wenn sie auf einer Liste stehen.',
  none: {
    title: 'Keine gesperrten Adressen',
    text: 'Adressen erscheinen hier, wenn sich jemand in einer E‑Mail abmeldet, sie als Spam meldet oder sie unzustellbar ist.',
  },
  email: 'E‑Mail-Adresse',
  wholeAddress:
    'Nichts gefunden. Geben Sie die vollständige Adresse ein. Nach einem Teil der Adresse lässt sich hier ' +
    'nicht suchen.',
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
  lift: 'E‑Mails wieder erlauben',
  liftOf: (email) => `E‑Mails wieder erlauben: ${email}`,
  lifting: {
    title: (email) => `E‑Mails an ${email} wieder erlauben?`,
    text: 'Tun Sie das nur, wenn die Person darum gebeten hat. Sonst ist es in den meisten Ländern verboten.',
    button: 'E‑Mails wieder erlauben',
  },
  done: {
    added: 'Adresse gesperrt. An sie werden keine E‑Mails mehr gesendet.',
    lifted: 'E‑Mails an diese Adresse sind wieder erlaubt.',
  },
};
