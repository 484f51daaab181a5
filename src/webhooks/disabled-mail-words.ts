/** Texts of the email about a disabled webhook. To add a language, add an entry. */
type DisabledMailWords = {
  subject: (organization: string) => string;
  /** @param webhook its `since` is formatted. */
  text: (webhook: { organization: string; since: string; url: string; id: string }) => string;
};

const WORDS: Record<string, DisabledMailWords> = {
  en: {
    subject: (organization) => `Webhook disabled for ${organization}`,
    text: ({ organization, since, url, id }) => `Hello,

We have been unable to deliver events to this webhook of ${organization} since ${since}:

${url}
(${id})

The webhook is now disabled. No events are lost. To see how the endpoint responded, call webhook.list-deliveries. Once the endpoint accepts requests again, call webhook.resume-webhook. Delivery continues where it stopped.
`,
  },
  de: {
    subject: (organization) => `Ein Webhook von ${organization} wurde deaktiviert`,
    text: ({ organization, since, url, id }) => `Guten Tag,

seit dem ${since} konnten keine Ereignisse an diesen Webhook von ${organization} zugestellt werden:

${url}
(${id})

Der Webhook wurde deshalb deaktiviert. Es gehen keine Ereignisse verloren. Die Antworten des Endpunkts sehen Sie mit webhook.list-deliveries. Sobald der Endpunkt wieder Anfragen annimmt, rufen Sie webhook.resume-webhook auf. Die Zustellung wird dann dort fortgesetzt, wo sie unterbrochen wurde.
`,
  },
  fr: {
    subject: (organization) => `Un webhook de ${organization} a été désactivé`,
    text: ({ organization, since, url, id }) => `Bonjour,

Depuis le ${since}, aucun événement n’a pu être transmis à ce webhook de ${organization} :

${url}
(${id})

Le webhook a donc été désactivé. Aucun événement n’est perdu. Pour consulter les réponses du serveur de destination, appelez webhook.list-deliveries. Dès qu’il accepte à nouveau les requêtes, appelez webhook.resume-webhook. L’envoi reprend là où il s’est arrêté.
`,
  },
  es: {
    subject: (organization) => `Se ha desactivado un webhook de ${organization}`,
    text: ({ organization, since, url, id }) => `Hola:

Desde el ${since} no se ha podido entregar ningún evento a este webhook de ${organization}:

${url}
(${id})

Por eso se ha desactivado el webhook. No se pierde ningún evento. Para ver las respuestas del servidor de destino, llame a webhook.list-deliveries. Cuando vuelva a aceptar solicitudes, llame a webhook.resume-webhook. La entrega se reanudará donde se detuvo.
`,
  },
};

/** In the given language, or else in English. */
export function disabledMail(
  language: string,
  {
    name,
    webhookId,
    url,
    failingSince,
  }: { name: string; webhookId: string; url: string; failingSince: Date },
): { subject: string; text: string } {
  const spoken = Object.hasOwn(WORDS, language) ? language : 'en';
  const { subject, text } = WORDS[spoken]!;
  const style = { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' } as const;
  const since = `${new Intl.DateTimeFormat(spoken === 'en' ? 'en-GB' : spoken, style).format(failingSince)} UTC`;
  return { subject: subject(name), text: text({ organization: name, since, url, id: webhookId }) };
}
