/** What the mail about a disabled webhook says; a translator adds another language. */
export type DisabledMailWords = {
  subject: (organization: string) => string;
  /** @param since in words. */
  text: (webhook: { organization: string; since: string; url: string; id: string }) => string;
};

const WORDS: Record<string, DisabledMailWords> = {
  en: {
    subject: (organization) => `A webhook of ${organization} was disabled`,
    text: ({ organization, since, url, id }) => `Hello,

since ${since}, no event could be delivered to this webhook of ${organization}:

${url}
(${id})

It was therefore disabled. No event is lost. webhook.list-deliveries shows what the endpoint answered. Once it accepts requests again, call webhook.resume-webhook: delivery continues where it stopped.
`,
  },
  de: {
    subject: (organization) => `Ein Webhook von ${organization} wurde deaktiviert`,
    text: ({ organization, since, url, id }) => `Guten Tag,

seit dem ${since} konnte diesem Webhook von ${organization} kein Ereignis mehr zugestellt werden:

${url}
(${id})

Er wurde deshalb deaktiviert. Es geht kein Ereignis verloren. webhook.list-deliveries zeigt, was der Empfänger geantwortet hat. Sobald er wieder Anfragen annimmt, rufen Sie webhook.resume-webhook auf: Die Zustellung wird an derselben Stelle fortgesetzt.
`,
  },
  fr: {
    subject: (organization) => `Un webhook de ${organization} a été désactivé`,
    text: ({ organization, since, url, id }) => `Bonjour,

depuis le ${since}, aucun événement n’a pu être remis à ce webhook de ${organization} :

${url}
(${id})

Il a donc été désactivé. Aucun événement n’est perdu. webhook.list-deliveries indique ce que le destinataire a répondu. Dès qu’il accepte de nouveau les requêtes, appelez webhook.resume-webhook : la remise reprend là où elle s’est arrêtée.
`,
  },
  es: {
    subject: (organization) => `Se ha desactivado un webhook de ${organization}`,
    text: ({ organization, since, url, id }) => `Hola:

Desde el ${since} no se ha podido entregar ningún evento a este webhook de ${organization}:

${url}
(${id})

Por eso se ha desactivado. No se pierde ningún evento. webhook.list-deliveries muestra qué respondió el destinatario. Cuando vuelva a aceptar solicitudes, llame a webhook.resume-webhook: la entrega continúa donde se detuvo.
`,
  },
};

/** In a language, or in English. */
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
