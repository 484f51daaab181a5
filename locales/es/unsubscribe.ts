import { type UnsubscribeWords } from '../words.js';

export const unsubscribe: UnsubscribeWords = {
  unsubscribe: {
    title: 'Darse de baja',
    text: (organization) => `¿Desea dejar de recibir correos de ${organization}?`,
    button: 'Darse de baja',
  },
  unsubscribed: {
    title: 'Se ha dado de baja',
    text: (organization) => `Ya no recibirá correos de ${organization}.`,
    undo: '¿Se ha dado de baja por error?',
    button: 'Volver a suscribirse',
  },
  subscribed: {
    title: 'Se ha vuelto a suscribir',
    text: (organization) => `Volverá a recibir correos de ${organization}.`,
  },
  unknown: {
    title: 'Este enlace no funciona',
    text: 'Puede que esté incompleto. Vuelva a abrir el enlace del correo o responda a ese correo para solicitar la baja.',
  },
};
