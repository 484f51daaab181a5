/**
 * Set by `npm run test:long`, which runs all cases where `npm test` runs a few, and also the files named `*.long.spec.ts`
 * (jest.config.js).
 */
export const isLong = process.env.TEST_LENGTH === 'long';

/** All cases in `npm run test:long`, but only the first `count` in `npm test`. */
export function someOf<One>(all: readonly One[], count = 1): readonly One[] {
  return isLong ? all : all.slice(0, count);
}

type Test = ((...test: Parameters<typeof it>) => void) & Pick<typeof it, 'each'>;

/** A test, or a table of tests, that only `npm run test:long` runs. */
export const longIt: Test = isLong ? it : Object.assign(() => undefined, { each: () => () => undefined });

/** Tests that only `npm run test:long` runs, with their setup. */
export function longDescribe(...tests: Parameters<typeof describe>): void {
  if (isLong) describe(...tests);
}
