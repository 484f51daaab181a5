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
    weeklySummary: 'Wochenübersicht (jeden Montag, außer wenn nichts passiert ist)',
  },
  turningOff: {
    title: 'Diese E‑Mails abbestellen?',
    text: (organization, name) =>
      `Sie erhalten dann von ${organization} diese E‑Mails nicht mehr: „${name}“. Im Dashboard können Sie sie unter „Benachrichtigungen“ wieder aktivieren.`,
    button: 'Abbestellen',
  },
  turnedOff: {
    title: 'Diese E‑Mails sind abbestellt',
    text: (name) => `Sie erhalten diese E‑Mails nicht mehr: „${name}“.`,
    button: 'E‑Mail-Einstellungen öffnen',
  },
  unknownLink: {
    title: 'Dieser Link funktioniert nicht',
    text: 'Vielleicht ist er unvollständig, oder er gehört zu einer früheren Mitgliedschaft. Kopieren Sie den ganzen Link aus der E‑Mail, oder melden Sie sich an und öffnen Sie „Benachrichtigungen“.',
  },
  done: { saved: 'Ihre Auswahl wurde gespeichert.' },
};
