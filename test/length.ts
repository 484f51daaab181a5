/**
 * `npm run test:long`: what `npm test` tries with a few is tried with all, or with many. It takes an hour; a suite that everybody
 * runs before every commit may not.
 */
export const isLong = process.env.TEST_LENGTH === 'long';
