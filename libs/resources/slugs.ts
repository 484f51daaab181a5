import slugify from 'slugify';
import { LONGEST_SLUG, RpcError } from '#libs/rpc';

/** The maximum number of former slugs that still lead to a record. */
const MOST_FORMER = 20;
const YEAR_MS = 365 * 24 * 3_600_000;

/** A slug that a page had, and until when it redirects to the current one. */
type FormerSlug = { slug: string; until: string };

/** The part of a record's state that identifies its page. `slug` is unique for its kind within the organization. */
export type Slugged = { slug: string | null; formerSlugs: readonly FormerSlug[] };

/** Derives a slug from a name; null if the name has no usable character. */
export function slugOf(name: string): string | null {
  const slug = slugify(name, { lower: true, strict: true, trim: true }).slice(0, LONGEST_SLUG);
  return slug.replace(/^-+|-+$/g, '').replace(/-{2,}/g, '-') || null;
}

/** The state after an event with a slug. The previous slugs lead to it for a year. */
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

/** Whether the record has this slug, or had it within the last year. */
export function isLedToBy({ slug, formerSlugs }: Slugged, wanted: string, at: Date): boolean {
  return slug === wanted || formerSlugs.some((one) => one.slug === wanted && one.until > at.toISOString());
}

export function slugTaken(slug: string): RpcError {
  return new RpcError(
    'CONFLICT',
    `Another page uses ${slug}, or used it within the last year. Choose another slug.`,
    { reason: 'SLUG_TAKEN' },
  );
}
