/** `*`, or `<service>:read` / `<service>:write`. */
export const SCOPES = [
  '*',
  ...['contact', 'petition', 'post', 'list', 'organization', 'api-key'].flatMap((service) => [
    `${service}:read`,
    `${service}:write`,
  ]),
  'event:read',
];
