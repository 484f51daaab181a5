import { type organization as en } from '../../en/dashboard/organization.js';

export const organization: typeof en = {
  title: 'Organisation',
  text: 'Angaben zu Ihrer Organisation, E-Mail-Einstellungen und öffentliche Seiten.',
  change: 'Bearbeiten',
  who: 'Angaben',
  mails: 'E-Mail-Einstellungen',
  pages: 'Öffentliche Seiten',
  fields: {
    name: 'Name',
    website: 'Website',
    email: 'E-Mail-Adresse',
    country: 'Land',
    language: 'Sprache Ihrer E-Mails und Seiten',
    publicLog: 'Alle dürfen sehen, wie viele Ereignisse unser Verlauf enthält, und ihn prüfen',
    fromName: 'Absendername',
    fromAddress: 'Absenderadresse',
    fromHint: 'Ihr Mailserver muss E-Mails von dieser Adresse senden dürfen.',
    replyTo: 'Antwortadresse',
    postalAddress: 'Postanschrift',
    postalHint: 'Steht am Ende jeder E-Mail. In den meisten Ländern ist das gesetzlich vorgeschrieben.',
    slug: 'Adresse Ihrer Seiten',
    slugHint:
      'Kleinbuchstaben, Ziffern und Bindestriche. Wenn Sie die Adresse ändern, leitet die alte ein Jahr lang zur neuen weiter.',
    colour: 'Farbe',
    privacyUrl: 'Adresse Ihrer Datenschutzerklärung',
    logo: 'Logo',
    page: 'Ihre öffentliche Seite',
  },
  languages: { en: 'Englisch', de: 'Deutsch', fr: 'Französisch', es: 'Spanisch' },
  save: 'Speichern',
  done: { changed: 'Organisation gespeichert.' },
};
