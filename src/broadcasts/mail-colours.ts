import { contrastOf } from '#libs/pages';

/** Names that newsletters use. Others count as readable. */
const NAMES: { [name: string]: string } = {
  white: '#ffffff',
  snow: '#fffafa',
  ivory: '#fffff0',
  whitesmoke: '#f5f5f5',
  lightgray: '#d3d3d3',
  lightgrey: '#d3d3d3',
  silver: '#c0c0c0',
  gray: '#808080',
  grey: '#808080',
  black: '#000000',
  yellow: '#ffff00',
  red: '#ff0000',
  green: '#008000',
  blue: '#0000ff',
  navy: '#000080',
  maroon: '#800000',
  purple: '#800080',
  teal: '#008080',
  orange: '#ffa500',
};

/** Below this ratio, text disappears. Pale grey on white is deliberate, and has 1.6. */
const LEAST_CONTRAST = 1.5;
/** More transparent colours let the background through. */
const LEAST_ALPHA = 0.5;

/** The first colour in a CSS value as `#rrggbb`. Undefined if there is none, or if it is transparent. */
export function colourIn(value: string): string | undefined {
  const written = value.toLowerCase().match(/#[\da-f]{3,8}\b|\b(?:rgb|hsl)a?\([^()]*\)|\b[a-z]+\b/g) ?? [];
  for (const one of written) {
    const colour = read(one);
    if (colour !== undefined) return colour;
  }
  return undefined;
}

function read(colour: string): string | undefined {
  if (colour.startsWith('#')) return hexOf(colour.slice(1));
  const [, kind, given = ''] = /^(rgb|hsl)a?\(([^)]*)\)$/.exec(colour) ?? [];
  if (kind === undefined) return NAMES[colour];
  const [one = 0, two = 0, three = 0, alpha = 1] = given
    .split(/[\s,/]+/)
    .filter((part) => part !== '')
    .map((part) => parseFloat(part) * (part.endsWith('%') ? 0.01 : 1));
  if (alpha < LEAST_ALPHA) return undefined;
  const parts =
    kind === 'hsl'
      ? hslParts(one, two, three)
      : [one, two, three].map((part) => (given.includes('%') ? part : part / 255));
  return `#${parts.map((part) => twoDigits(part * 255)).join('')}`;
}

/** Whether text in this colour disappears on this background. Both as `#rrggbb`. */
export function unreadable(colour: string, ground: string): boolean {
  return contrastOf(colour, ground) < LEAST_CONTRAST;
}

export function readableOn(ground: string): string {
  return contrastOf('#ffffff', ground) > contrastOf('#000000', ground) ? '#ffffff' : '#000000';
}

function hexOf(digits: string): string | undefined {
  const long = digits.length < 5 ? [...digits].map((digit) => digit + digit).join('') : digits;
  if (long.length === 8 && parseInt(long.slice(6), 16) < LEAST_ALPHA * 255) return undefined;
  return long.length === 6 || long.length === 8 ? `#${long.slice(0, 6)}` : undefined;
}

/** CSS Color 4, section 7.1. */
function hslParts(hue: number, saturation: number, lightness: number): number[] {
  return [0, 8, 4].map((n) => {
    const k = (n + hue / 30) % 12;
    return (
      lightness - saturation * Math.min(lightness, 1 - lightness) * Math.max(-1, Math.min(k - 3, 9 - k, 1))
    );
  });
}

function twoDigits(part: number): string {
  return Math.round(Math.min(255, Math.max(0, part)))
    .toString(16)
    .padStart(2, '0');
}
