export const forms = {
  title: 'Sign-up forms',
  text: 'Let people subscribe without signing a petition.',
  none: { title: 'No sign-up forms yet', text: 'Create one, share its page, or embed it in your website.' },
  add: 'New sign-up form',
  submissions: 'Sign-ups',
  overTime: 'Sign-ups over time',
  pending: 'Awaiting confirmation',
  statuses: { PUBLISHED: 'Open', PAUSED: 'Paused' },
  above: 'Text above the form',
  titleHint: 'If you leave this empty, the form gets its default title.',
  adds: { list: 'Add people to these lists', tag: 'Add these tags to people' },
  confirmation: 'Confirmation',
  confirmations: {
    EMAIL: 'People confirm through a link in an email (recommended)',
    NONE: 'Sign-ups take effect immediately',
  },
  deleting: {
    title: (name: string) => `Delete “${name}”?`,
    text: 'Its page will be deleted. The data of unconfirmed sign-ups will be destroyed. Contacts are kept.',
    button: (name: string) => `Delete “${name}”`,
  },
  done: { created: 'Form created.', changed: 'Form saved.', deleted: 'Form deleted.' },
};
