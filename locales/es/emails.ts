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
  notifications: {
    why: (organization) => `Recibe este correo porque forma parte del equipo de ${organization}.`,
    off: 'No recibir más correos como este',
    settings: 'Elegir qué correos recibir',
    firstSignature: {
      subject: (petition) => `Primera firma: ${petition}`,
      text: (petition) => `«${petition}» ha recibido su primera firma.`,
      button: 'Ver la petición',
    },
    goalReached: {
      subject: (petition) => `Objetivo alcanzado: ${petition}`,
      text: ({ petition, goal, signatures }) =>
        `«${petition}» ha alcanzado su objetivo. Firmas hasta ahora: ${signatures} (objetivo: ${goal}).`,
      button: 'Ver la petición',
    },
    commentWaiting: {
      subject: (comments, count, petition) =>
        `${comments === 1 ? '1 comentario por revisar' : `${count} comentarios por revisar`}: ${petition}`,
      text: (comments, count, petition) =>
        comments === 1
          ? `Alguien ha dejado un comentario al firmar «${petition}». Aparecerá en la página en cuanto lo apruebe.`
          : `${count} comentarios sobre «${petition}» esperan su aprobación. Cada uno aparecerá en la página en cuanto lo apruebe.`,
      button: 'Revisar los comentarios',
    },
    broadcastFinished: {
      subject: (name) => `Envío terminado: ${name}`,
      text: (name) => `El envío de su correo «${name}» ha terminado.`,
      sent: (people, count) => (people === 1 ? 'Enviado a 1 persona' : `Enviado a ${count} personas`),
      failed: (people, count) =>
        people === 1 ? 'No se pudo enviar a 1 persona' : `No se pudo enviar a ${count} personas`,
      inDoubt: (people, count) =>
        people === 1
          ? 'Es posible que 1 persona no lo haya recibido'
          : `Es posible que ${count} personas no lo hayan recibido`,
      skipped: (people, count) =>
        people === 1
          ? 'No se envió a 1 persona, por ejemplo porque se dio de baja entretanto'
          : `No se envió a ${count} personas, por ejemplo porque se dieron de baja entretanto`,
      hindered: {
        subject: (name) => `No enviado: ${name}`,
        text: (name) =>
          `El envío de su correo «${name}» estaba programado, pero no se pudo realizar. En su página se indica qué falta. Nadie lo ha recibido.`,
        button: 'Ver el correo',
      },
      button: 'Ver los resultados',
    },
    webhookDisabled: {
      subject: (organization) => `Se ha desactivado un webhook de ${organization}`,
      text: (url) =>
        `Este webhook lleva tanto tiempo fallando que se ha desactivado:\n\n${url}\n\nNo se pierde ningún evento. Cuando el servidor de destino vuelva a aceptar solicitudes, reanude el webhook. La entrega continuará donde se detuvo.`,
      button: 'Ver el webhook',
    },
    weeklySummary: {
      subject: (organization) => `Su semana en ${organization}`,
      text: (first, last) => `Esto es lo que ha pasado del ${first} al ${last}.`,
      figures: {
        signatures: (count) => `Firmas nuevas: ${count}`,
        contacts: (count) => `Contactos nuevos: ${count}`,
        unsubscribes: (count) => `Bajas: ${count}`,
      },
      petition: (title, added, counts) =>
        `«${title}»: ${added === 1 ? '1 firma nueva' : `${counts.added} firmas nuevas`} (${counts.signatures} de ${counts.goal})`,
      broadcast: (name, people, count) =>
        `«${name}»: enviado a ${people === 1 ? '1 persona' : `${count} personas`}`,
      comments: (comments, count) =>
        comments === 1 ? '1 comentario espera su aprobación.' : `${count} comentarios esperan su aprobación.`,
      button: 'Abrir el panel',
    },
  },
  broadcastFooter: {
    why: (organization) => `Recibe este correo porque está en contacto con ${organization}.`,
    unsubscribe: 'Darse de baja',
  },
};
