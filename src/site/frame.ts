/**
 * How an embedded form looks, from the attributes of its element (docs/guides/public-site.md). Every page in the frame has them in
 * its address. Null: as on the site itself.
 */
export type Frame = {
  theme: 'light' | 'dark' | null;
  /** `#rrggbb`, like the colour of an organization. */
  colour: string | null;
  /** Optional fields that the form asks for: names of standard fields, and keys of custom fields. */
  fields: readonly string[] | null;
};

/** More names than any form has fields. */
const MAX_FIELDS = 100;

/** Ignores what it does not know, because the page around the frame cannot show an error. */
export function frameOf(query: Record<string, unknown>): Frame {
  const textOf = (name: string) => (typeof query[name] === 'string' ? query[name] : '');
  const theme = textOf('theme').toLowerCase();
  const [, colour] = /^#?([0-9a-f]{6})$/i.exec(textOf('colour')) ?? [];
  const fields = textOf('fields').match(/\w+/g) ?? [];
  return {
    theme: theme === 'light' || theme === 'dark' ? theme : null,
    colour: colour === undefined ? null : `#${colour.toLowerCase()}`,
    fields: 'fields' in query ? fields.slice(0, MAX_FIELDS) : null,
  };
}

/** Parameters of an address from which `frameOf` reads the same. */
export function parametersOfFrame({ theme, colour, fields }: Frame): string[] {
  return [
    ...(theme === null ? [] : [`theme=${theme}`]),
    ...(colour === null ? [] : [`colour=${colour.slice(1)}`]),
    ...(fields === null ? [] : [`fields=${fields.join(',')}`]),
  ];
}

/** The frame of a page that a form leads to; null outside of frames. */
export function embeddedIn(query: Record<string, unknown>): Frame | null {
  return 'embed' in query ? frameOf(query) : null;
}

/** Parameters from which `embeddedIn` reads the same. */
export function embedParameters(frame: Frame | null): string[] {
  return frame ? ['embed', ...parametersOfFrame(frame)] : [];
}
