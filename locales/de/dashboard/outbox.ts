import { type outbox as en } from '../../en/dashboard/outbox.js';

export const outbox: typeof en = {
  title: 'Postausgang',
  text: 'Dieser Server ist mit keinem Mailserver verbunden. Er schreibt jede E‑Mail in eine Datei, und niemand bekommt sie. Hier sehen Sie die E‑Mails Ihrer Organisation, mit funktionierenden Links.',
  where: (folder) =>
    `Dieser Server speichert sie in ${folder}. Gibt es mehrere Server, hat jeder einen eigenen Ordner. E‑Mails bleiben, bis jemand die Dateien löscht, auch E‑Mails an gelöschte Personen. Anmeldelinks für Personen, die auch zu anderen Organisationen gehören, stehen nicht in dieser Liste. Sie liegen nur in Dateien neben diesem Ordner.`,
  none: {
    title: 'Noch keine E‑Mails',
    text: 'E‑Mails erscheinen hier, statt gesendet zu werden. Laden Sie zum Beispiel jemanden ein.',
  },
  search: (most) => `Adresse oder Betreff (in den neuesten ${most} E‑Mails)`,
  subject: 'Betreff',
  noSubject: 'Kein Betreff',
  from: 'Von',
  to: 'An',
  date: 'Datum',
  written: 'Erstellt',
  plain: 'Nur-Text-Version',
  links:
    'Links öffnen sich in einem neuen Fenster. Ein Anmeldelink meldet Sie hier ab. Öffnen Sie ihn deshalb in einem privaten Fenster.',
  html: 'HTML-Version',
  frame: 'E‑Mail',
};
