import { type UnsubscribeWords } from '../words.js';

export const unsubscribe: UnsubscribeWords = {
  unsubscribe: {
    title: 'Unsubscribe',
    text: (organization) => `Do you want to stop receiving emails from ${organization}?`,
    button: 'Unsubscribe',
  },
  unsubscribed: {
    title: 'You’ve been unsubscribed',
    text: (organization) => `You’ll no longer receive emails from ${organization}.`,
    undo: 'Unsubscribed by mistake?',
    button: 'Subscribe again',
  },
  subscribed: {
    title: 'You’re subscribed again',
    text: (organization) => `You’ll receive emails from ${organization} again.`,
  },
  unknown: {
    title: 'This link doesn’t work',
    text: 'It may be incomplete. Open the link in the email again, or reply to the email and ask to be unsubscribed.',
  },
};
