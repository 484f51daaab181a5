const en = {
  title: 'Outbox',
  text: 'This server is not connected to a mail server. It writes each email to a file, and no one receives it. These are your organization’s emails, with working links.',
  where: (folder: string) =>
    `This server stores them in ${folder}. Other servers have their own folder. Emails stay until someone deletes the files, even emails to people who were deleted. Sign-in links for people who also belong to other organizations are stored only in files next to that folder.`,
  none: { title: 'No emails yet', text: 'Emails appear here instead of being sent. Try inviting someone.' },
  search: (most: string) => `Address or subject (in the newest ${most} emails)`,
  subject: 'Subject',
  noSubject: 'No subject',
  from: 'From',
  to: 'To',
  date: 'Date',
  written: 'Created',
  plain: 'Plain-text version',
  links: 'Links open in a new window. A sign-in link signs you out here, so open it in a private window.',
  html: 'HTML version',
  frame: 'Email',
};

const de: typeof en = {
  title: 'Postausgang',
  text: 'Dieser Server ist mit keinem Mailserver verbunden. Er schreibt jede E-Mail in eine Datei, und niemand bekommt sie. Hier sehen Sie die E-Mails Ihrer Organisation, mit funktionierenden Links.',
  where: (folder) =>
    `Dieser Server speichert sie in ${folder}. Andere Server haben einen eigenen Ordner. E-Mails bleiben, bis jemand die Dateien löscht, auch E-Mails an gelöschte Personen. Anmeldelinks für Personen, die auch zu anderen Organisationen gehören, liegen nur in Dateien neben diesem Ordner.`,
  none: {
    title: 'Noch keine E-Mails',
    text: 'E-Mails erscheinen hier, statt gesendet zu werden. Laden Sie zum Beispiel jemanden ein.',
  },
  search: (most) => `Adresse oder Betreff (in den neuesten ${most} E-Mails)`,
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
  frame: 'E-Mail',
};

export const outboxWords = { en, de };
