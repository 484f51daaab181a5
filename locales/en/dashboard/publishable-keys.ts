export const publishableKeys = {
  title: 'Website keys',
  text: 'With a website key, forms on your own website sign your petitions and submit your sign-up forms. The key is not secret.',
  none: {
    title: 'No website keys yet',
    text: 'Create one for each website that has a form of your own. To show our form there, embed it: that needs no key.',
  },
  add: 'Create website key',
  create: 'Create website key',
  origins: 'Websites',
  originsHint: 'One address per line, like https://www.example.org. The key works nowhere else.',
  key: 'Website key',
  use: 'Use it on your website',
  revoking: {
    title: (name: string) => `Revoke “${name}”?`,
    text: 'Within a second, forms with this key stop working. You can’t undo this.',
    button: (name: string) => `Revoke “${name}”`,
  },
  done: { created: 'Website key created.', changed: 'Website key saved.', revoked: 'Website key revoked.' },
};
