import { counted } from '#libs/pages';

export const home = {
  open: 'Open petitions',
  noneOpen: 'No petitions are open.',
  reached: 'Goal reached. Time to set a higher one.',
  all: 'View all',
  newContacts: 'Newest contacts',
  days: {
    title: 'Last 30 days',
    counted: { signatures: 'Signatures', contacts: 'New contacts', unsubscribes: 'Unsubscribes' },
    lately: (many: string) => `${many} in the last 7 days`,
    note: 'Imports count on the day they ran. Later withdrawals and deletions are not subtracted.',
  },
  lastEmails: 'Latest emails',
  attention: {
    title: 'Needs attention',
    petition: 'Draft petition. Publish it to collect signatures.',
    email: 'Draft email. It has not been sent.',
    missed: (many: string) => `${many} failed or unknown deliveries. Retry them.`,
    suspicious: (n: number) =>
      `${counted('en-GB', n, 'suspicious signature', 'suspicious signatures')} in the last 7 days. Review them.`,
    failing: 'Deliveries to this webhook fail and are retried.',
    webhook: 'Webhook disabled after repeated failures.',
  },
  checklist: {
    title: 'Get started',
    done: '(done)',
    colour: 'Choose your organization’s colour',
    sender: 'Set the sender address of your emails',
    contacts: 'Import your contacts',
    petition: 'Create your first petition',
  },
};
