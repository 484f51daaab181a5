const en = {
  title: 'Team',
  text: 'Everyone who works in this organization.',
  none: { title: 'No team members yet', text: 'Invite the first person.' },
  invite: 'Invite someone',
  change: (email: string) => `Edit ${email}`,
  formerly: 'unknown address',
  you: '(you)',
  invitations: {
    title: 'Invitations',
    text: 'People who were invited and haven’t joined yet.',
    none: { title: 'No open invitations', text: 'Invitations appear here until they are accepted.' },
    expired: 'Expired',
    ends: 'Expires',
    revoke: (email: string) => `Revoke the invitation for ${email}`,
  },
  inviting: {
    title: 'Invite someone',
    text: 'They’ll get an email with a link to join your team.',
    button: 'Send invitation',
  },
  member: {
    role: 'Role',
    save: 'Save role',
    remove: 'Remove from team',
    last: 'An organization must have at least one owner. Make someone else an owner first.',
    removeText: 'They are signed out immediately and need a new invitation to return.',
  },
  removal: {
    title: (email: string) => `Remove ${email}?`,
    text: 'They are signed out within a second. Their actions stay in the history, but their address is permanently deleted. API keys and webhooks they created keep working, and invitations they sent stay valid. Review these first.',
    keys: 'API keys',
    webhooks: 'Webhooks',
    invitations: 'Invitations',
    button: (email: string) => `Remove ${email}`,
  },
  revocation: {
    title: (email: string) => `Revoke the invitation for ${email}?`,
    text: 'The link in the email will stop working.',
    button: 'Revoke invitation',
  },
  done: {
    invited: 'The invitation is on its way.',
    written:
      'This server has no mail server, so it wrote the invitation to a file. Owners can find it under “Outbox” in a browser on the server itself, or among the files.',
    roleChanged: 'Role saved. It applies when the person signs in again.',
    removed: 'Team member removed.',
    revoked: 'Invitation revoked.',
  },
};

const de: typeof en = {
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
    text: 'Die Person bekommt eine E-Mail mit einem Link, über den sie Ihrem Team beitritt.',
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
    text: 'Die Person wird innerhalb einer Sekunde abgemeldet. Ihre Aktionen bleiben im Verlauf, aber ihre Adresse wird endgültig gelöscht. API-Schlüssel und Webhooks, die sie angelegt hat, funktionieren weiter. Auch von ihr gesendete Einladungen bleiben gültig. Prüfen Sie diese vorher.',
    keys: 'API-Schlüssel',
    webhooks: 'Webhooks',
    invitations: 'Einladungen',
    button: (email) => `${email} entfernen`,
  },
  revocation: {
    title: (email) => `Einladung für ${email} zurückziehen?`,
    text: 'Der Link in der E-Mail funktioniert dann nicht mehr.',
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

export const teamWords = { en, de };
