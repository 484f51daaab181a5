const en = {
  title: 'Team',
  text: 'Who works in this organization.',
  none: { title: 'Nobody yet', text: 'Invite the first person.' },
  invite: 'Invite somebody',
  change: (email: string) => `Change ${email}`,
  formerly: 'address not known',
  you: '(you)',
  invitations: {
    title: 'Invitations',
    text: 'Who was invited and has not come yet.',
    none: { title: 'Nobody is waiting to come', text: 'Whom you invite stands here until they have come.' },
    expired: 'expired',
    ends: 'Open until',
    revoke: (email: string) => `Revoke the invitation of ${email}`,
  },
  inviting: {
    title: 'Invite somebody',
    text: 'They get a mail with a link that lets them in.',
    button: 'Send the invitation',
  },
  member: {
    role: 'What may they do?',
    save: 'Save the role',
    remove: 'Remove from the team',
    last: 'The last owner stays: make somebody else an owner first.',
    removeText: 'They are signed out at once and cannot come back without an invitation.',
  },
  removal: {
    title: (email: string) => `Remove ${email}?`,
    text: 'They are signed out within a second. What they did stays in the history; their address is destroyed. API keys and webhooks that they made go on, and so do invitations that they sent: look through them before.',
    keys: 'API keys',
    webhooks: 'Webhooks',
    invitations: 'Invitations',
    button: (email: string) => `Remove ${email}`,
  },
  revocation: {
    title: (email: string) => `Revoke the invitation of ${email}?`,
    text: 'The link in the mail opens nothing from then on.',
    button: 'Revoke the invitation',
  },
  done: {
    invited: 'The invitation is on its way.',
    written:
      'The invitation is written into a file, because this server has no mail server: an owner finds it under “Outbox”, on the machine on which it runs, or among the files.',
    roleChanged: 'The role is changed. They sign in again with the new one.',
    removed: 'The member is removed.',
    revoked: 'The invitation is revoked.',
  },
};

const de: typeof en = {
  title: 'Team',
  text: 'Wer in dieser Organisation arbeitet.',
  none: { title: 'Noch niemand', text: 'Laden Sie die erste Person ein.' },
  invite: 'Jemanden einladen',
  change: (email) => `${email} ändern`,
  formerly: 'Adresse nicht bekannt',
  you: '(Sie)',
  invitations: {
    title: 'Einladungen',
    text: 'Wer eingeladen ist und noch nicht gekommen ist.',
    none: {
      title: 'Es steht keine Einladung aus',
      text: 'Wen Sie einladen, steht hier, bis er oder sie gekommen ist.',
    },
    expired: 'abgelaufen',
    ends: 'Offen bis',
    revoke: (email) => `Einladung von ${email} zurückziehen`,
  },
  inviting: {
    title: 'Jemanden einladen',
    text: 'Die Person bekommt eine E-Mail mit einem Link, der sie hereinlässt.',
    button: 'Einladung schicken',
  },
  member: {
    role: 'Was darf die Person?',
    save: 'Rolle speichern',
    remove: 'Aus dem Team entfernen',
    last: 'Die letzte Inhaberin, der letzte Inhaber bleibt: Machen Sie zuerst jemand anderen dazu.',
    removeText: 'Die Person wird sofort abgemeldet und kommt ohne Einladung nicht wieder herein.',
  },
  removal: {
    title: (email) => `${email} entfernen?`,
    text: 'Die Person wird binnen einer Sekunde abgemeldet. Was sie getan hat, bleibt im Verlauf; ihre Adresse wird vernichtet. API-Schlüssel und Webhooks, die sie angelegt hat, gelten weiter, ebenso Einladungen, die sie verschickt hat: Sehen Sie diese vorher durch.',
    keys: 'API-Schlüssel',
    webhooks: 'Webhooks',
    invitations: 'Einladungen',
    button: (email) => `${email} entfernen`,
  },
  revocation: {
    title: (email) => `Einladung von ${email} zurückziehen?`,
    text: 'Der Link in der E-Mail öffnet dann nichts mehr.',
    button: 'Einladung zurückziehen',
  },
  done: {
    invited: 'Die Einladung ist unterwegs.',
    written:
      'Die Einladung steht in einer Datei, denn dieser Server hat keinen Mailserver: Inhaber finden sie unter „Postausgang“, auf dem Rechner, auf dem er läuft, oder bei den Dateien.',
    roleChanged: 'Die Rolle ist geändert. Die Person meldet sich damit neu an.',
    removed: 'Das Mitglied ist entfernt.',
    revoked: 'Die Einladung ist zurückgezogen.',
  },
};

export const teamWords = { en, de };
