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
  broadcastFooter: {
    why: (organization) => `Sie erhalten diese E‑Mail, weil Sie mit ${organization} in Kontakt stehen.`,
    unsubscribe: 'Abmelden',
  },
};
