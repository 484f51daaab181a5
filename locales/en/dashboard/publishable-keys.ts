export const publishableKeys = {
  title: 'Website keys',
  text: 'With a website key, forms on your own website can collect signatures and sign-ups. The key is not secret.',
  none: {
    title: 'No website keys yet',
    text: 'Create one for each website that has its own form. To embed our form instead, you don’t need a key.',
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
