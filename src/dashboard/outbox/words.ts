const en = {
  title: 'Outbox',
  text: 'This server has no mail server: it writes each mail into a file, and nobody gets it. Here are those of your organization, with the links in them.',
  where: (folder: string) =>
    `They are in ${folder}, as this server has written them: another one has a folder of its own. They stay until somebody deletes the files, also those to people who were erased. Links that let somebody in who is in other organizations, too, stand in files beside that folder alone.`,
  none: { title: 'No mails yet', text: 'What would have been sent stands here: invite somebody, say.' },
  search: (most: string) => `Address or subject (of the newest ${most} mails)`,
  subject: 'Subject',
  noSubject: 'without a subject',
  from: 'From',
  to: 'To',
  date: 'Date',
  written: 'Written',
  plain: 'The mail as text',
  links:
    'Links open in a new window. One that lets somebody in signs you out here: open it in a private window.',
  html: 'The mail as mail programs show it',
  frame: 'The mail',
};

const de: typeof en = {
  title: 'Postausgang',
  text: 'Dieser Server hat keinen Mailserver: Er schreibt jede E-Mail in eine Datei, und niemand bekommt sie. Hier stehen die Ihrer Organisation, mit den Links darin.',
  where: (folder) =>
    `Sie liegen in ${folder}, so wie dieser Server sie geschrieben hat: Ein anderer hat einen eigenen Ordner. Sie bleiben, bis jemand die Dateien löscht, auch die an Personen, die gelöscht wurden. Links, die jemanden hereinlassen, der auch in anderen Organisationen ist, stehen nur in Dateien neben diesem Ordner.`,
  none: {
    title: 'Noch keine E-Mails',
    text: 'Was verschickt worden wäre, steht hier: Laden Sie zum Beispiel jemanden ein.',
  },
  search: (most) => `Adresse oder Betreff (der neuesten ${most} E-Mails)`,
  subject: 'Betreff',
  noSubject: 'ohne Betreff',
  from: 'Von',
  to: 'An',
  date: 'Datum',
  written: 'Geschrieben',
  plain: 'Die E-Mail als Text',
  links:
    'Links öffnen sich in einem neuen Fenster. Einer, der jemanden hereinlässt, meldet Sie hier ab: Öffnen Sie ihn in einem privaten Fenster.',
  html: 'Die E-Mail, wie Mailprogramme sie zeigen',
  frame: 'Die E-Mail',
};

export const outboxWords = { en, de };
