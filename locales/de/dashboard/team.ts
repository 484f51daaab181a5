import { type team as en } from '../../en/dashboard/team.js';

export const team: typeof en = {
  title: 'Team',
  text: 'Alle, die in dieser Organisation arbeiten.',
  none: { title: 'Noch keine Teammitglieder', text: 'Laden Sie die erste Person ein.' },
  invite: 'Jemanden einladen',
  change: (email) => `${email} bearbeiten`,
  formerly: 'Unbekannte Adresse',
  you: '(Sie)',
  invitations: {
    title: 'Einladungen',
    text: 'Personen, die eingeladen sind und noch nicht zum Team gehören.',
    none: {
      title: 'Keine offenen Einladungen',
      text: 'Einladungen erscheinen hier, bis sie angenommen werden.',
    },
    expired: 'Abgelaufen',
    ends: 'Läuft ab',
    revoke: (email) => `Einladung für ${email} zurückziehen`,
  },
  inviting: {
    title: 'Jemanden einladen',
    text: 'Die Person bekommt eine E‑Mail mit einem Link, über den sie Ihrem Team beitritt.',
    button: 'Einladung senden',
  },
  member: {
    role: 'Rolle',
    save: 'Rolle speichern',
    remove: 'Aus dem Team entfernen',
    last: 'Jede Organisation braucht mindestens eine Inhaberin oder einen Inhaber. Geben Sie zuerst einer anderen Person diese Rolle.',
    removeText: 'Die Person wird sofort abgemeldet und braucht eine neue Einladung, um zurückzukehren.',
  },
  removal: {
    title: (email) => `${email} entfernen?`,
    text: 'Die Person wird innerhalb einer Sekunde abgemeldet. Ihre Aktionen bleiben im Verlauf, aber ihre Adresse wird endgültig gelöscht. API-Schlüssel und Webhooks, die sie angelegt hat, funktionieren weiter. Auch von ihr gesendete Einladungen bleiben gültig. Prüfen Sie das vorher.',
    keys: 'API-Schlüssel',
    webhooks: 'Webhooks',
    invitations: 'Einladungen',
    button: (email) => `${email} entfernen`,
  },
  revocation: {
    title: (email) => `Einladung für ${email} zurückziehen?`,
    text: 'Der Link in der E‑Mail funktioniert dann nicht mehr.',
    button: 'Einladung zurückziehen',
  },
  done: {
    invited: 'Die Einladung ist unterwegs.',
    written:
      'Dieser Server hat keinen Mailserver. Deshalb steht die Einladung in einer Datei. Inhaber·innen finden sie unter „Postausgang“ in einem Browser auf dem Server selbst oder bei den Dateien.',
    roleChanged: 'Rolle gespeichert. Sie gilt, sobald die Person sich neu anmeldet.',
    removed: 'Teammitglied entfernt.',
    revoked: 'Einladung zurückgezogen.',
  },
};
