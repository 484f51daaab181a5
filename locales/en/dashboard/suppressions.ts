export const suppressions = {
  title: 'Suppressed addresses',
  text: 'No email is sent to these addresses, even if they are on a list.',
  none: {
    title: 'No suppressed addresses',
    text: 'Addresses appear here when people unsubscribe from an email or report it as spam, and when an email to them bounces.',
  },
  email: 'Email address',
  wholeAddress: 'Nothing found. Enter the full address. You can’t search for part of a suppressed address.',
  add: 'Suppress an address',
  button: 'Suppress address',
  why: 'Reason',
  reasons: {
    UNSUBSCRIBED: 'Unsubscribed',
    BOUNCED: 'Bounced',
    COMPLAINED: 'Marked as spam',
    MANUAL: 'Added manually',
  },
  gone: 'Address no longer known',
  lift: 'Allow email again',
  liftOf: (email: string) => `Allow email again: ${email}`,
  lifting: {
    title: (email: string) => `Allow email to ${email} again?`,
    text: 'Only do this if the person asked for it. Otherwise, it is illegal in most countries.',
    button: 'Allow email again',
  },
  done: {
    added: 'Address suppressed. No more email is sent to it.',
    lifted: 'Email to this address is allowed again.',
  },
};
