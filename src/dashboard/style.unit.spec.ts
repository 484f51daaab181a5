import { styleFor } from './style.js';

it('every custom property in use is defined: otherwise, browsers ignore the declaration', () => {
  const { text } = styleFor(null);
  const used = [...text.matchAll(/var\((--[\w-]+)/g)].map(([, name]) => name!);
  const undefinedOnes = used.filter((name) => !text.includes(`${name}:`));
  expect([used.length > 100, undefinedOnes]).toEqual([true, []]);
});
