import { html, type Html } from '#libs/pages';
import { type DashboardWords } from '#locales';
import { numberIn, Table } from '../parts.js';
import { type Audience } from './broadcast.js';

const EXCLUDED = [
  'unsubscribed',
  'suppressed',
  'withoutAddress',
  'excluded',
  'filtered',
  'duplicate',
  'unknown',
] as const;

/** The response of `broadcast.preview-audience`. */
export type AudiencePreview = { total: number; excluded: Record<(typeof EXCLUDED)[number], number> };

/** How many people would receive an email, and why others would not. */
export function ReachOf(words: DashboardWords, audience: Audience, preview: AudiencePreview): Html {
  const { total, why, people, excluded } = words.broadcasts.audience;
  const others = EXCLUDED.filter((one) => preview.excluded[one] > 0);
  const table = {
    caption: why,
    columns: [{ name: why }, { name: people, isNumber: true }],
    rows: others.map((one) => [excluded[one], numberIn(words, preview.excluded[one])]),
  };
  return html`<p><strong>${preview.total === 0 ? whyNobody(words, audience, preview) : total(preview.total)}</strong></p>
    ${others.length === 0 ? null : Table(table)}`;
}

/** Why there are no recipients: none chosen, none in the chosen lists, or all excluded. */
export function whyNobody(words: DashboardWords, audience: Audience, { excluded }: AudiencePreview): string {
  const { nobody, nobodyThere, nobodyLeft } = words.broadcasts.audience;
  if (!choosesSome(audience)) return nobody;
  return EXCLUDED.every((why) => excluded[why] === 0) ? nobodyThere : nobodyLeft;
}

/** Whether the audience selects anyone, who may then be excluded. */
export function choosesSome(audience: Audience): boolean {
  const chosen = Object.keys(audience).filter(
    (field) => field.endsWith('Ids') && !field.startsWith('exclude'),
  );
  return audience.all === true || chosen.length > 0;
}
