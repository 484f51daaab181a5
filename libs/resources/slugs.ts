import slugify from 'slugify';
import { LONGEST_SLUG, RpcError } from '#libs/rpc';

/** Former slugs of one record that lead to it still. */
const MOST_FORMER = 20;
const YEAR_MS = 365 * 24 * 3_600_000;

/** What a page was found by, and until when it leads to the one of now. */
type FormerSlug = { slug: string; until: string };

/** The part of a record's state by which its page is found: its `slug` is unique among those of its kind in the organization. */
export type Slugged = { slug: string | null; formerSlugs: readonly FormerSlug[] };

/** Of a name; null where nothing of it can stand in an address. */
export function slugOf(name: string): string | null {
  const slug = slugify(name, { lower: true, strict: true, trim: true }).slice(0, LONGEST_SLUG);
  return slug.replace(/^-+|-+$/g, '').replace(/-{2,}/g, '-') || null;
}

/** The state after an event that names a slug; those of before lead to it for a year. */
export function withSlug({ slug, formerSlugs }: Slugged, next: string | null | undefined, at: Date): Slugged {
  if (next === undefined || next === slug) return { slug, formerSlugs };
  const until = new Date(at.getTime() + YEAR_MS).toISOString();
  const former = [...formerSlugs, ...(slug === null ? [] : [{ slug, until }])];
  return {
    slug: next,
    formerSlugs: former
      .filter((one) => one.slug !== next && one.until > at.toISOString())
      .slice(-MOST_FORMER),
  };
}

/** Whether a slug leads to the record, as it is or as it was within a year. */
export function isLedToBy({ slug, formerSlugs }: Slugged, asked: string, at: Date): boolean {
  return slug === asked || formerSlugs.some((one) => one.slug === asked && one.until > at.toISOString());
}

export function slugTaken(slug: string): RpcError {
  return new RpcError(
    'CONFLICT',
    `Another page uses ${slug}, or used it within the last year. Choose another slug.`,
    { reason: 'SLUG_TAKEN' },
  );
}
