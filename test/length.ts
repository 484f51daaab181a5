/**
 * Set by `npm run test:long`, which tries all of what `npm test` tries a few of, and also runs the files named `*.long.spec.ts`
 * (jest.config.js).
 */
export const isLong = process.env.TEST_LENGTH === 'long';

/** The first ones alone in `npm test`: one, unless said otherwise. */
export function someOf<One>(all: readonly One[], count = 1): readonly One[] {
  return isLong ? all : all.slice(0, count);
}

/** A test of `npm run test:long` alone. */
export function longIt(...test: Parameters<typeof it>): void {
  if (isLong) it(...test);
}

/** Tests of `npm run test:long` alone, with what they need. */
export function longDescribe(...tests: Parameters<typeof describe>): void {
  if (isLong) describe(...tests);
}
