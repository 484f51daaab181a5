import { type Html, html } from '#libs/pages';

/** Strokes in a square of 20 units: of sections, by their key, and of what actions do. */
const SHAPES: Record<string, string> = {
  overview: 'M3 9.5 10 3.5l7 6M5 8v8.5h10V8M8.5 16.5v-5h3v5',
  search: 'M14 9A5 5 0 1 1 4 9a5 5 0 0 1 10 0ZM12.7 12.7 17 17',
  petitions: 'M4.5 2.5h11v15h-11zM7.5 6h5M7.5 9h5M7 14.5c1-2.5 2-2.5 2.2-.8s1 1 3.3.3',
  posts: 'M3 4h11v12.5H4.5A1.5 1.5 0 0 1 3 15zM14 7.5h3V15a1.5 1.5 0 0 1-3 0M5.5 7.5h6M5.5 10.5h6M5.5 13.5h3',
  forms: 'M3.5 3h13v14h-13zM6.5 6h7M6.5 9h7v2.5h-7zM6.5 14.2h3',
  images: 'M3 4h14v12H3zM3 14l4.5-4.5L11 13l2-2 4 4M13.2 7.4h.01',
  contacts: 'M13 6.5a3 3 0 1 1-6 0 3 3 0 0 1 6 0ZM4 17c0-3 2.7-5 6-5s6 2 6 5',
  segments: 'M3 4h14l-5.5 6.5V16l-3-1.5v-4z',
  lists: 'M7 5.5h10M7 10h10M7 14.5h10M3.5 5.5h.01M3.5 10h.01M3.5 14.5h.01',
  tags: 'M3 3h6.5l7.5 7.5-6.5 6.5L3 9.5zM6.5 6.5h.01',
  customFields:
    'M3 6h6M13 6h4M13 6a2 2 0 1 1-4 0 2 2 0 0 1 4 0ZM3 14h2M9 14h8M9 14a2 2 0 1 1-4 0 2 2 0 0 1 4 0Z',
  broadcasts: 'M2.5 4.5h15v11h-15zM2.5 5.5 10 11l7.5-5.5',
  suppressions: 'M16.5 10a6.5 6.5 0 1 1-13 0 6.5 6.5 0 0 1 13 0ZM5.5 5.5l9 9',
  outbox: 'M3 11v5.5h14V11M10 12.5v-9M6.5 7 10 3.5 13.5 7',
  organization: 'M4 17V3.5h8V17M12 8h4v9M2.5 17h15M7 7h2M7 10h2M7 13h2',
  views: 'M3 4h14v12H3zM3 8h14M8 8v8',
  team: 'M9.5 6.5a2.5 2.5 0 1 1-5 0 2.5 2.5 0 0 1 5 0ZM2 16c0-2.7 2.2-4.5 5-4.5s5 1.8 5 4.5M13 4.3a2.5 2.5 0 0 1 0 4.4M14.5 11.8c2 .6 3.5 2.1 3.5 4.2',
  notifications: 'M5 13.5V9a5 5 0 0 1 10 0v4.5l1.5 1.5h-13zM8.3 17.2a2 2 0 0 0 3.4 0',
  keys: 'M9.8 10.5 17 3.3M14 6.3l2 2M10.8 13.1a3.6 3.6 0 1 1-7.2 0 3.6 3.6 0 0 1 7.2 0Z',
  publishableKeys:
    'M17 10a7 7 0 1 1-14 0 7 7 0 0 1 14 0ZM3 10h14M10 3c2.2 2 3 4.4 3 7s-.8 5-3 7c-2.2-2-3-4.4-3-7s.8-5 3-7Z',
  webhooks: 'M3.5 10H13M9.5 6.5 13 10l-3.5 3.5M16.5 4v12',
  systemStatus: 'M2.5 10.5H6l2-6 4 11 2-5h3.5',
  history: 'M17 10a7 7 0 1 1-14 0 7 7 0 0 1 14 0ZM10 6v4l2.8 1.8',
  bold: 'M6 3.5h5a3.2 3.2 0 0 1 0 6.5H6zM6 10h5.8a3.2 3.2 0 0 1 0 6.5H6z',
  italic: 'M9 3.5h6M5 16.5h6M12 3.5l-4 13',
  heading: 'M3.5 4v12M11 4v12M3.5 10H11M14 9.5l2.5-1.5v8',
  subheading: 'M3.5 5v10M10 5v10M3.5 10H10M13 10.5a1.8 1.8 0 0 1 3.5.5c0 1.5-3.5 2.5-3.5 4.5h4',
  bullets: 'M8 5.5h9M8 10h9M8 14.5h9M4 5.5h.01M4 10h.01M4 14.5h.01',
  numbers: 'M8.5 5.5H17M8.5 10H17M8.5 14.5H17M3 4l1.3-.7v4M3 12.7c.3-1 2.4-1 2.4.2 0 1-2.4 1.4-2.4 3h2.6',
  quote: 'M4 5v10M8 6h9M8 10h9M8 14h6',
  link: 'm8.5 11.5 3-3M9 6l1.8-1.8a3.5 3.5 0 0 1 5 5L14 11M11 14l-1.8 1.8a3.5 3.5 0 0 1-5-5L6 9',
  undo: 'M7 4 3.5 7.5 7 11M3.5 7.5H12a4.2 4.2 0 0 1 0 8.5H8',
  redo: 'm13 4 3.5 3.5L13 11M16.5 7.5H8A4.2 4.2 0 0 0 8 16h4',
  new: 'M10 4v12M4 10h12',
  edit: 'm4 16 .8-3.4 8.4-8.4 2.6 2.6-8.4 8.4zM11.3 6.1l2.6 2.6',
  import: 'M3.5 13v3.5h13V13M10 12.5v-9M6.5 7 10 3.5 13.5 7',
  export: 'M3.5 13v3.5h13V13M10 3.5v9M6.5 9l3.5 3.5L13.5 9',
  delete: 'M4 6h12M8 6V3.5h4V6M5.5 6l.7 10.5h7.6L14.5 6',
};

export const ICONS: readonly string[] = Object.keys(SHAPES);

const icons = new Map(
  Object.entries(SHAPES).map(([name, d]) => [
    name,
    html`<svg class="icon" viewBox="0 0 20 20" aria-hidden="true"><path d="${d}" /></svg>`,
  ]),
);

icons.set('erase', icons.get('delete')!);

/** An icon, which never replaces a text; null if there is none. */
export function Icon(name: string): Html | null {
  return icons.get(name) ?? null;
}
