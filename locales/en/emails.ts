import { type EmailWords } from '../words.js';

export const emails: EmailWords = {
  invitation: {
    subject: (organization) => `You have been invited to join ${organization}`,
    text: (organization) => `Hello,\n\nYou have been invited to work on campaigns for ${organization}.`,
    button: 'Accept invitation',
    deadline: (days) => `This link expires in ${days} days and can only be used once.`,
    ignore: 'If you weren’t expecting this invitation, you can ignore this email.',
  },
  signIn: {
    subject: 'Your sign-in link',
    text: (host) => `Hello,\n\nHere is your link to sign in to ${host}.`,
    button: 'Sign in',
    deadline: (minutes) => `This link expires in ${minutes} minutes and can only be used once.`,
    ignore: 'If you didn’t request this link, you can ignore this email. No one can sign in without it.',
  },
  confirmation: {
    subject: (petition) => `Confirm your signature: ${petition}`,
    greeting: (firstName) => (firstName === null ? 'Hello,' : `Hello ${firstName},`),
    ask: (petition, organization) =>
      `You signed “${petition}” by ${organization}. Your signature counts once you confirm it:`,
    button: 'Confirm my signature',
    deadline: (days) =>
      `The link expires in ${days} days. If you don’t confirm by then, your details are deleted.`,
    ignore:
      'If you didn’t sign this petition, you can ignore this email. Nothing is kept unless you confirm.',
    already: {
      subject: (petition) => `You have already signed: ${petition}`,
      text: (petition) =>
        `Someone, probably you, just signed “${petition}” again with this email address. Your signature already counts, so you don’t need to do anything.`,
      button: 'View the petition',
    },
  },
  signUp: {
    subject: (form) => `Confirm your subscription: ${form}`,
    ask: (form, organization) =>
      `You filled in “${form}” by ${organization}. Your subscription starts once you confirm it:`,
    button: 'Confirm my subscription',
    ignore: 'If you didn’t fill in this form, you can ignore this email. Nothing is kept unless you confirm.',
  },
  disabledWebhook: {
    subject: (organization) => `Webhook disabled for ${organization}`,
    text: ({ organization, since, url, id }) => `Hello,

We have been unable to deliver events to this webhook of ${organization} since ${since}:

${url}
(${id})

The webhook is now disabled. No events are lost. To see how the endpoint responded, call webhook.list-deliveries. Once the endpoint accepts requests again, call webhook.resume-webhook. Delivery continues where it stopped.
`,
  },
  broadcastFooter: {
    why: (organization) => `You are receiving this email because you are a contact of ${organization}.`,
    unsubscribe: 'Unsubscribe',
  },
};
