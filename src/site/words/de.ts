import { plural } from '#libs/pages';
import { type Words } from './words.js';

export const de: Words = {
  locale: 'de',
  dates: 'de',
  skip: 'Zum Inhalt springen',
  footer: 'Über diese Seite',
  privacy: 'Datenschutz',
  feed: 'Neuigkeiten als Feed',
  website: 'Website',
  petitions: 'Petitionen',
  posts: 'Neuigkeiten',
  nothingYet: {
    title: 'Hier ist noch nichts',
    text: 'Auf dieser Seite erscheinen Petitionen und Neuigkeiten.',
  },
  signatures: (n, number) =>
    plural('de', n, { one: `${number} Unterschrift`, other: `${number} Unterschriften` }),
  ofGoal: (goal) => `von ${goal}`,
  goalReached: (goal) => `Das Ziel von ${goal} ist erreicht`,
  progress: (percent) => `${percent} des Ziels`,
  target: 'An',
  ask: 'Wir fordern',
  closes: (date) => `Sie können bis ${date} unterschreiben.`,
  closed: {
    title: 'Diese Petition ist beendet',
    text: 'Sie nimmt keine Unterschriften mehr an. Danke an alle, die unterschrieben haben.',
  },
  toForm: 'Petition unterschreiben',
  sign: { title: 'Petition unterschreiben', text: 'Es dauert zehn Sekunden.' },
  button: 'Jetzt unterschreiben',
  optional: 'freiwillig',
  fields: {
    firstName: 'Vorname',
    lastName: 'Nachname',
    email: 'E-Mail-Adresse',
    zip: 'Postleitzahl',
    country: 'Land',
    comment: 'Warum unterschreiben Sie?',
  },
  hints: {
    email: 'Wir senden Ihnen einen Link, mit dem Sie Ihre Unterschrift bestätigen.',
    comment: 'Ein oder zwei Sätze genügen.',
  },
  commentPublic: 'Mein Vorname und mein Kommentar dürfen auf dieser Seite stehen',
  subscribe: (organization) => `${organization} darf mich per E-Mail auf dem Laufenden halten`,
  honeypot: 'Dieses Feld leer lassen',
  data: (organization) =>
    `Ihre Angaben erhält ${organization} und sonst niemand. Was Sie nicht bestätigen, wird nach sieben Tagen gelöscht.`,
  dataNone: (organization) => `Ihre Angaben erhält ${organization} und sonst niemand.`,
  faults: {
    title: 'Bitte sehen Sie noch einmal nach',
    prefix: 'Fehler: ',
    email: 'Geben Sie eine E-Mail-Adresse an wie name@example.org',
    emailMissing: 'Geben Sie Ihre E-Mail-Adresse an',
    firstNameMissing: 'Geben Sie Ihren Vornamen an',
    tooLong: 'Das ist zu lang: Bitte kürzen Sie es',
    tooLate:
      'Diese Seite war lange geöffnet. Bitte senden Sie das Formular noch einmal ab: Was Sie geschrieben haben, ist noch da.',
    tooFast:
      'Das ging sehr schnell. Bitte senden Sie das Formular noch einmal ab: Was Sie geschrieben haben, ist noch da.',
    unstorable: 'Das enthält Zeichen, die nicht gespeichert werden können: Bitte entfernen Sie sie',
  },
  comments: 'Warum Menschen unterschreiben',
  share: {
    title: 'Weitersagen',
    text: 'Jede Unterschrift hilft. Wer sollte von dieser Petition wissen?',
  },
  shareBy: {
    mail: 'Per E-Mail',
    whatsapp: 'Per WhatsApp',
    address: 'Adresse dieser Seite',
    copy: 'Kopieren',
    copied: 'Kopiert',
  },
  shareText: (petition) => `Ich habe „${petition}“ unterschrieben. Unterschreiben Sie auch?`,
  asked: {
    title: 'Sehen Sie in Ihr Postfach',
    text: 'Wir haben Ihnen einen Link gesendet. Öffnen Sie ihn und bestätigen Sie: Dann zählt Ihre Unterschrift.',
    hint: 'Nach einigen Minuten noch nichts da? Sehen Sie im Spam-Ordner nach, oder unterschreiben Sie noch einmal mit derselben Adresse.',
  },
  signed: { title: 'Danke für Ihre Unterschrift', text: 'Ihre Unterschrift zählt.' },
  confirm: {
    title: 'Unterschrift bestätigen',
    text: (petition) => `Sie unterschreiben „${petition}“ als:`,
    name: 'Name',
    comment: 'Ihr Kommentar',
    commentPublic: 'Ihr Vorname und Ihr Kommentar dürfen auf der Seite der Petition stehen.',
    button: 'Unterschrift bestätigen',
    ignore: 'Waren Sie das nicht? Dann schließen Sie diese Seite: Ohne Ihre Bestätigung geschieht nichts.',
  },
  expired: {
    title: 'Dieser Link ist abgelaufen',
    text: 'Was Sie geschrieben haben, wurde nicht rechtzeitig bestätigt und ist gelöscht. Sie können noch einmal unterschreiben.',
  },
  unknownLink: {
    title: 'Dieser Link funktioniert nicht',
    text: 'Vielleicht ist er unvollständig. Öffnen Sie den Link in der E-Mail noch einmal, oder unterschreiben Sie erneut.',
  },
  notFound: {
    title: 'Hier ist nichts',
    text: 'Die Adresse ist vielleicht falsch, oder die Seite gibt es nicht mehr.',
  },
  tooMany: {
    title: 'Zu viele Unterschriften aus Ihrem Netz',
    text: 'Bitte versuchen Sie es in einer Stunde noch einmal, oder aus einem anderen Netz.',
  },
  unavailable: {
    title: 'Das geht gerade nicht',
    text: 'Bitte versuchen Sie es in einer Minute noch einmal. Was Sie zuvor unterschrieben haben, ist sicher.',
  },
  back: 'Zur Petition',
  again: 'Noch einmal unterschreiben',
  published: (date) => `Veröffentlicht am ${date}`,
  embedTitle: (petition) => `Unterschreiben: ${petition}`,
  proof: { working: 'Einen Moment …' },
};
