/** Red, green and blue, each from 0 to 1. */
type Rgb = readonly [number, number, number];

/** Background colours in the stylesheet. Text must be readable on each. */
export const SURFACES = { light: ['#ffffff', '#f4f5f7'], dark: ['#15171c', '#1e2128'] } as const;

/** The minimum for text in WCAG 2.2, 1.4.3. Borders of controls need less (1.4.11). */
const MIN_CONTRAST = 4.5;
const STEPS = 100;
const PRESET = '#0b57d0';

/** An accent for one scheme, and the colour of text on it. */
export type Accent = { accent: string; onAccent: string };

/** The organization's colour, adjusted to be readable on the surfaces of each scheme. */
export function accentsOf(colour: string | null): { light: Accent; dark: Accent } {
  return { light: accentOn(colour ?? PRESET, 'light'), dark: accentOn(colour ?? PRESET, 'dark') };
}

function accentOn(colour: string, scheme: 'light' | 'dark'): Accent {
  const own = rgbOf(colour);
  const lightness = (Math.max(...own) + Math.min(...own)) / 2;
  const target = scheme === 'light' ? 0 : 1;
  let accent = own;
  for (let step = 1; step <= STEPS && !isReadable(accent, scheme); step += 1) {
    accent = withLightness(own, lightness + ((target - lightness) * step) / STEPS);
  }
  const white: Rgb = [1, 1, 1];
  const onAccent = contrast(accent, white) >= MIN_CONTRAST ? '#ffffff' : '#000000';
  return { accent: hexOf(accent), onAccent };
}

/** Keeps the hue and the saturation (HSL). Mixed with white, a colour would become dull. */
function withLightness(colour: Rgb, wanted: number): Rgb {
  const own = (Math.max(...colour) + Math.min(...colour)) / 2;
  const room = (lightness: number) => Math.min(lightness, 1 - lightness);
  // Black and white have no hue.
  const share = room(own) === 0 ? 0 : room(wanted) / room(own);
  return colour.map((part) => Math.min(1, Math.max(0, wanted + (part - own) * share))) as unknown as Rgb;
}

/** Whether a colour is readable as text on each surface, and as a background of black or white text. */
function isReadable(colour: Rgb, scheme: 'light' | 'dark'): boolean {
  const rounded = rgbOf(hexOf(colour));
  return SURFACES[scheme].every((surface) => contrast(rounded, rgbOf(surface)) >= MIN_CONTRAST);
}

/** The contrast ratio as in WCAG 2.2, from 1 to 21. */
export function contrastOf(one: string, other: string): number {
  return contrast(rgbOf(one), rgbOf(other));
}

function contrast(one: Rgb, other: Rgb): number {
  const [lighter, darker] = [luminance(one), luminance(other)].toSorted((a, b) => b - a) as [number, number];
  return (lighter + 0.05) / (darker + 0.05);
}

function luminance(colour: Rgb): number {
  const [red, green, blue] = colour.map((part) =>
    part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4,
  ) as unknown as Rgb;
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function rgbOf(colour: string): Rgb {
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16) / 255);
  return [red!, green!, blue!];
}

function hexOf(colour: Rgb): string {
  const parts = colour.map((part) =>
    Math.round(part * 255)
      .toString(16)
      .padStart(2, '0'),
  );
  return `#${parts.join('')}`;
}
