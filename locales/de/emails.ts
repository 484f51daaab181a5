import { type EmailWords } from '../words.js';

export const emails: EmailWords = {
  invitation: {
    subject: (organization) => `Einladung zur Mitarbeit bei ${organization}`,
    text: (organization) =>
      `Guten Tag,\n\nSie wurden eingeladen, an den Kampagnen von ${organization} mitzuarbeiten.`,
    button: 'Einladung annehmen',
    deadline: (days) => `Der Link ist ${days} Tage gültig und kann nur einmal verwendet werden.`,
    ignore: 'Wenn Sie keine Einladung erwartet haben, können Sie diese E‑Mail ignorieren.',
  },
  signIn: {
    subject: 'Ihr Anmeldelink',
    text: (host) => `Guten Tag,\n\nmit diesem Link melden Sie sich bei ${host} an.`,
    button: 'Anmelden',
    deadline: (minutes) => `Der Link ist ${minutes} Minuten gültig und kann nur einmal verwendet werden.`,
    ignore:
      'Wenn Sie diesen Link nicht angefordert haben, können Sie diese E‑Mail ignorieren. Ohne den Link kann sich niemand anmelden.',
  },
  confirmation: {
    subject: (petition) => `Bitte bestätigen Sie Ihre Unterschrift: ${petition}`,
    greeting: (firstName) => (firstName === null ? 'Guten Tag,' : `Guten Tag ${firstName},`),
    ask: (petition, organization) =>
      `Sie haben die Petition „${petition}“ von ${organization} unterschrieben. Bitte bestätigen Sie Ihre Unterschrift, damit sie zählt:`,
    button: 'Unterschrift bestätigen',
    deadline: (days) =>
      `Der Link ist ${days} Tage gültig. Wenn Sie bis dahin nicht bestätigen, werden Ihre Daten gelöscht.`,
    ignore:
      'Wenn Sie nicht unterschrieben haben, können Sie diese E‑Mail ignorieren. Ohne Ihre Bestätigung wird nichts gespeichert.',
    already: {
      subject: (petition) => `Sie haben bereits unterschrieben: ${petition}`,
      text: (petition) =>
        `Jemand, vermutlich Sie selbst, hat die Petition „${petition}“ gerade noch einmal mit dieser Adresse unterschrieben. Ihre Unterschrift zählt bereits. Sie müssen nichts weiter tun.`,
      button: 'Petition ansehen',
    },
  },
  signUp: {
    subject: (form) => `Bitte bestätigen Sie Ihre Anmeldung: ${form}`,
    ask: (form, organization) =>
      `Sie haben sich über „${form}“ bei ${organization} angemeldet. Ihre Anmeldung gilt, sobald Sie sie bestätigen:`,
    button: 'Anmeldung bestätigen',
    ignore:
      'Wenn Sie sich nicht angemeldet haben, können Sie diese E‑Mail ignorieren. Ohne Ihre Bestätigung wird nichts gespeichert.',
  },
  disabledWebhook: {
    subject: (organization) => `Ein Webhook von ${organization} wurde deaktiviert`,
    text: ({ organization, since, url, id }) => `Guten Tag,

seit dem ${since} konnten keine Ereignisse an diesen Webhook von ${organization} zugestellt werden:

${url}
(${id})

Der Webhook wurde deshalb deaktiviert. Es gehen keine Ereignisse verloren. Die Antworten des Endpunkts sehen Sie mit webhook.list-deliveries. Sobald der Endpunkt wieder Anfragen annimmt, rufen Sie webhook.resume-webhook auf. Die Zustellung wird dann dort fortgesetzt, wo sie unterbrochen wurde.
`,
  },
  notifications: {
    why: (organization) => `Sie erhalten diese E‑Mail, weil Sie zum Team von ${organization} gehören.`,
    off: 'Solche E‑Mails abbestellen',
    settings: 'Auswählen, welche E‑Mails Sie erhalten',
    firstSignature: {
      subject: (petition) => `Erste Unterschrift: ${petition}`,
      text: (petition) => `„${petition}“ hat die erste Unterschrift erhalten.`,
      button: 'Petition ansehen',
    },
    goalReached: {
      subject: (petition) => `Ziel erreicht: ${petition}`,
      text: ({ petition, goal, signatures }) =>
        `„${petition}“ hat das Ziel erreicht. Unterschriften bisher: ${signatures} (Ziel: ${goal}).`,
      button: 'Petition ansehen',
    },
    commentWaiting: {
      subject: (comments, count, petition) =>
        `${comments === 1 ? '1 Kommentar zu prüfen' : `${count} Kommentare zu prüfen`}: ${petition}`,
      text: (comments, count, petition) =>
        comments === 1
          ? `Jemand hat zu „${petition}“ einen Kommentar geschrieben. Er erscheint auf der Seite, sobald Sie ihn freigeben.`
          : `Zu „${petition}“ warten ${count} Kommentare auf Freigabe. Sie erscheinen auf der Seite, sobald Sie sie freigeben.`,
      button: 'Kommentare prüfen',
    },
    broadcastFinished: {
      subject: (name) => `Versand abgeschlossen: ${name}`,
      text: (name) => `Der Versand Ihrer E‑Mail „${name}“ ist abgeschlossen.`,
      sent: (people, count) => (people === 1 ? 'An 1 Person gesendet' : `An ${count} Personen gesendet`),
      failed: (people, count) =>
        people === 1
          ? 'An 1 Person konnte sie nicht zugestellt werden'
          : `An ${count} Personen konnte sie nicht zugestellt werden`,
      inDoubt: (people, count) =>
        people === 1
          ? '1 Person hat sie möglicherweise nicht erhalten'
          : `${count} Personen haben sie möglicherweise nicht erhalten`,
      skipped: (people, count) =>
        people === 1
          ? '1 Person wurde ausgelassen, zum Beispiel weil sie sich inzwischen abgemeldet hat'
          : `${count} Personen wurden ausgelassen, zum Beispiel weil sie sich inzwischen abgemeldet haben`,
      hindered: {
        subject: (name) => `Nicht versendet: ${name}`,
        text: (name) =>
          `Ihre E‑Mail „${name}“ war geplant, konnte aber nicht versendet werden. Auf ihrer Seite steht, was noch fehlt. Niemand hat sie erhalten.`,
        button: 'E‑Mail ansehen',
      },
      button: 'Ergebnis ansehen',
    },
    webhookDisabled: {
      subject: (organization) => `Ein Webhook von ${organization} wurde deaktiviert`,
      text: (url) =>
        `Dieser Webhook wurde deaktiviert, weil die Zustellung zu lange fehlgeschlagen ist:\n\n${url}\n\nEs gehen keine Ereignisse verloren. Setzen Sie den Webhook fort, sobald der Endpunkt wieder Anfragen annimmt. Die Zustellung geht dann dort weiter, wo sie unterbrochen wurde.`,
      button: 'Webhook ansehen',
    },
    weeklySummary: {
      subject: (organization) => `Ihre Woche bei ${organization}`,
      text: (first, last) => `Das hat sich vom ${first} bis zum ${last} getan:`,
      figures: {
        signatures: (count) => `Neue Unterschriften: ${count}`,
        contacts: (count) => `Neue Kontakte: ${count}`,
        unsubscribes: (count) => `Abmeldungen: ${count}`,
      },
      petition: (title, added, counts) =>
        `„${title}“: ${added === 1 ? '1 neue Unterschrift' : `${counts.added} neue Unterschriften`} (${counts.signatures} von ${counts.goal})`,
      broadcast: (name, people, count) =>
        `„${name}“: an ${people === 1 ? '1 Person' : `${count} Personen`} gesendet`,
      comments: (comments, count) =>
        comments === 1 ? '1 Kommentar wartet auf Freigabe.' : `${count} Kommentare warten auf Freigabe.`,
      button: 'Dashboard öffnen',
    },
  },
  broadcastFooter: {
    why: (organization) => `Sie erhalten diese E‑Mail, weil Sie mit ${organization} in Kontakt stehen.`,
    unsubscribe: 'Abmelden',
  },
};
