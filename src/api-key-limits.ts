/** What the command line says of API keys before it has loaded anything. */

/** `*`, or `<service>:read` / `<service>:write`. */
export const SCOPES = [
  '*',
  ...['contact', 'petition', 'post', 'list', 'organization', 'api-key'].flatMap((service) => [
    `${service}:read`,
    `${service}:write`,
  ]),
  'event:read',
];

export const LONGEST_OVERLAP_SECONDS = 86_400;
