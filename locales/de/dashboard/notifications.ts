import { type notifications as en } from '../../en/dashboard/notifications.js';

export const notifications: typeof en = {
  text: 'Wählen Sie aus, worüber Sie bei dieser Organisation per E‑Mail informiert werden. Andere Mitglieder entscheiden das für sich selbst.',
  button: 'Speichern',
  names: {
    firstSignature: 'Eine Petition erhält ihre erste Unterschrift',
    goalReached: 'Eine Petition erreicht ihr Ziel',
    commentWaiting: 'Kommentare warten auf Freigabe (höchstens eine E‑Mail pro Tag und Petition)',
    broadcastFinished: 'Eine E‑Mail wurde versendet, oder eine geplante konnte nicht versendet werden',
    webhookDisabled: 'Ein Webhook wird deaktiviert, weil er immer wieder fehlschlägt',
    weeklyDigest: 'Was letzte Woche passiert ist (jeden Montag, außer wenn nichts passiert ist)',
  },
  turningOff: {
    title: 'Diese E‑Mails abbestellen?',
    text: (organization, name) =>
      `Sie erhalten von ${organization} dann keine E‑Mails mehr zu: „${name}“. Im Dashboard können Sie sie unter „Benachrichtigungen“ wieder einschalten.`,
    button: 'Abbestellen',
  },
  turnedOff: {
    title: 'Diese E‑Mails sind abbestellt',
    text: (name) => `Sie erhalten keine E‑Mails mehr zu: „${name}“.`,
    button: 'Andere E‑Mails auswählen',
  },
  unknownLink: {
    title: 'Dieser Link funktioniert nicht',
    text: 'Vielleicht ist er unvollständig. Kopieren Sie den ganzen Link aus der E‑Mail, oder melden Sie sich an und öffnen Sie „Benachrichtigungen“.',
  },
  done: { saved: 'Ihre Auswahl wurde gespeichert.' },
};
