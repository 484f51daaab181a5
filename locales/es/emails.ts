import { type EmailWords } from '../words.js';

export const emails: EmailWords = {
  invitation: {
    subject: (organization) => `Invitación para unirse a ${organization}`,
    text: (organization) =>
      `Hola:\n\nHa recibido una invitación para colaborar en las campañas de ${organization}.`,
    button: 'Aceptar invitación',
    deadline: (days) => `El enlace caduca en ${days} días y solo se puede usar una vez.`,
    ignore: 'Si no esperaba esta invitación, ignore este correo.',
  },
  signIn: {
    subject: 'Su enlace de acceso',
    text: (host) => `Hola:\n\nEste es su enlace para iniciar sesión en ${host}.`,
    button: 'Iniciar sesión',
    deadline: (minutes) => `El enlace caduca en ${minutes} minutos y solo se puede usar una vez.`,
    ignore: 'Si no ha solicitado este enlace, ignore este correo. Sin él, nadie puede iniciar sesión.',
  },
  confirmation: {
    subject: (petition) => `Confirme su firma: ${petition}`,
    greeting: (firstName) => (firstName === null ? 'Hola:' : `Hola, ${firstName}:`),
    ask: (petition, organization) =>
      `Ha firmado la petición «${petition}» de ${organization}. Confirme su firma para que cuente:`,
    button: 'Confirmar mi firma',
    deadline: (days) =>
      `El enlace caduca en ${days} días. Si no confirma su firma en ese plazo, sus datos se eliminarán.`,
    ignore: 'Si no ha firmado esta petición, ignore este correo. Sin su confirmación no se guarda nada.',
    already: {
      subject: (petition) => `Ya ha firmado: ${petition}`,
      text: (petition) =>
        `Alguien, probablemente usted, acaba de firmar de nuevo la petición «${petition}» con esta dirección. Su firma ya cuenta. No tiene que hacer nada más.`,
      button: 'Ver la petición',
    },
  },
  signUp: {
    subject: (form) => `Confirme su suscripción: ${form}`,
    ask: (form, organization) =>
      `Ha rellenado el formulario «${form}» de ${organization}. Confirme su suscripción para que sea efectiva:`,
    button: 'Confirmar mi suscripción',
    ignore: 'Si no ha rellenado este formulario, ignore este correo. Sin su confirmación no se guarda nada.',
  },
  disabledWebhook: {
    subject: (organization) => `Se ha desactivado un webhook de ${organization}`,
    text: ({ organization, since, url, id }) => `Hola:

Desde el ${since} no se ha podido entregar ningún evento a este webhook de ${organization}:

${url}
(${id})

Por eso se ha desactivado el webhook. No se pierde ningún evento. Para ver las respuestas del servidor de destino, llame a webhook.list-deliveries. Cuando vuelva a aceptar solicitudes, llame a webhook.resume-webhook. La entrega se reanudará donde se detuvo.
`,
  },
  broadcastFooter: {
    why: (organization) => `Recibe este correo porque está en contacto con ${organization}.`,
    unsubscribe: 'Darse de baja',
  },
};
